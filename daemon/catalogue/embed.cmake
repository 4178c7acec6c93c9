# SPDX-License-Identifier: Apache-2.0
#
# cmake -DOUTPUT=x.cpp -DROOT=. "-DFILES=a.yaml,b.yaml" -P embed.cmake: the files as string literals in
# a C++ source that defines built_in_files(). Run by the build whenever one of them changed.
string(REPLACE "," ";" files "${FILES}")
set(text "// Written by daemon/catalogue/embed.cmake from configs/fingerprints; do not edit.\n")
string(APPEND text "#include \"daemon/catalogue/built_in.h\"\n\nnamespace collwatch::catalogue {\n\n")
string(APPEND text "const std::vector<BuiltInFile>& built_in_files() {\n")
string(APPEND text "  static const std::vector<BuiltInFile> kFiles = {\n")
foreach(file IN LISTS files)
  file(READ "${ROOT}/${file}" content)
  string(APPEND text "      {\"${file}\", R\"catalogue(${content})catalogue\"},\n")
endforeach()
string(APPEND text "  };\n  return kFiles;\n}\n\n}  // namespace collwatch::catalogue\n")
file(WRITE "${OUTPUT}" "${text}")
