//===- PromptTemplatesTest.cpp - Templates and what replaces them ---------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Propose/LLM/PromptTemplates.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "gmock/gmock.h"

using namespace fastk;
using testing::HasSubstr;

namespace {

/// A folder of templates.
struct Folder {
  Folder() {
    llvm::SmallString<128> made;
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("prompts", made));
    path = made.str().str();
  }
  ~Folder() { llvm::sys::fs::remove_directories(path); }
  void write(llvm::StringRef name, llvm::StringRef text) {
    std::error_code code;
    llvm::raw_fd_ostream(path + "/" + name.str(), code) << text;
    EXPECT_FALSE(code);
  }
  std::string error() const {
    llvm::Expected<PromptTemplates> templates = PromptTemplates::load(path);
    return templates ? "" : llvm::toString(templates.takeError());
  }
  std::string path;
};

PromptTemplates builtIn() { return llvm::cantFail(PromptTemplates::load()); }

TEST(PromptTemplatesTest, BuiltInOnesLoadAndHaveADigest) {
  PromptTemplates templates = builtIn();
  EXPECT_EQ(templates.digest().size(), 64u);
  EXPECT_EQ(templates.digest(), builtIn().digest());
  EXPECT_FALSE(templates.text("rules").empty());
  EXPECT_FALSE(templates.text("contract-cuda").empty());
}

TEST(PromptTemplatesTest, EveryFileInTheSourceTreeIsBuiltIn) {
  std::error_code code;
  std::vector<std::string> files;
  for (llvm::sys::fs::directory_iterator it(FASTK_PROMPTS_DIR, code), end;
       !code && it != end; it.increment(code))
    files.push_back(llvm::sys::path::stem(it->path()).str());
  EXPECT_THAT(PromptTemplates::names(),
              testing::UnorderedElementsAreArray(files));
}

TEST(PromptTemplatesTest, ValuesReplaceNamesAndAreNotLookedAtAgain) {
  std::string text =
      builtIn().user("ideas-again", {{"prompt", "{{problem}} {{x}}"},
                                     {"problem", "float a[1] = {{1}};"},
                                     {"reply", "the reply"}});
  EXPECT_THAT(text, HasSubstr("{{problem}} {{x}}\n"));
  EXPECT_THAT(text, HasSubstr("float a[1] = {{1}};\n"));
  EXPECT_THAT(text, HasSubstr("the reply"));
}

TEST(PromptTemplatesTest, ALineWithAnEmptyValueIsLeftOut) {
  Folder folder;
  folder.write("repair.md",
               "<!-- system -->\none\n\n{{plan}}\n\ntwo\n<!-- user "
               "-->\nwhat{{attempt}}: {{idea}}.\n");
  PromptTemplates templates =
      llvm::cantFail(PromptTemplates::load(folder.path));
  EXPECT_EQ(templates.system("repair", {}), "one\n\ntwo\n");
  EXPECT_EQ(templates.system("repair", {{"plan", "P\n"}}), "one\n\nP\n\ntwo\n");
  EXPECT_EQ(templates.user("repair", {{"idea", "x"}}), "what: x.\n");
}

TEST(PromptTemplatesTest, AFolderReplacesSomeAndChangesTheDigest) {
  Folder folder;
  folder.write("rules.md", "My rules.\r\nBraces {} {{0}} {{ a }} stay.");
  folder.write("README.txt", "{{unknown}} is no template");
  PromptTemplates templates =
      llvm::cantFail(PromptTemplates::load(folder.path));
  EXPECT_EQ(templates.text("rules"),
            "My rules.\nBraces {} {{0}} {{ a }} stay.\n");
  EXPECT_EQ(templates.text("prelude"), builtIn().text("prelude"));
  EXPECT_NE(templates.digest(), builtIn().digest());
}

TEST(PromptTemplatesErrorsTest, AnUnknownPlaceholderIsNamedWithItsLine) {
  Folder folder;
  folder.write("ideas.md",
               "<!-- system -->\nx\n<!-- user -->\n{{workload}}\n{{wrkload}}");
  EXPECT_THAT(folder.error(),
              testing::AllOf(HasSubstr("ideas.md:5: unknown placeholder "
                                       "'{{wrkload}}'"),
                             HasSubstr("workload, precision"),
                             HasSubstr("'{ {'")));
}

TEST(PromptTemplatesErrorsTest, SharedPartsHaveNoPlaceholders) {
  Folder folder;
  folder.write("failures.md", "{{workload}}");
  EXPECT_THAT(folder.error(), HasSubstr("this template has none"));
}

TEST(PromptTemplatesErrorsTest, PartsMustBeMarked) {
  Folder folder;
  folder.write("variant.md", "no marks");
  EXPECT_THAT(folder.error(), HasSubstr("'<!-- system -->'"));
  folder.write("variant.md", "<!-- system -->\nsystem alone\n");
  EXPECT_THAT(folder.error(), HasSubstr("'<!-- user -->'"));
}

TEST(PromptTemplatesErrorsTest, FilesThatAreNoTemplatesAreErrors) {
  Folder folder;
  EXPECT_THAT(folder.error(), HasSubstr("holds no template"));
  folder.write("idea.md", "x");
  EXPECT_THAT(folder.error(), testing::AllOf(HasSubstr("no template of that "
                                                       "name"),
                                             HasSubstr("ideas-again")));
  llvm::sys::fs::remove(folder.path + "/idea.md");
  folder.write("rules.md", " \n");
  EXPECT_THAT(folder.error(), HasSubstr("is empty"));
  folder.write("rules.md", llvm::StringRef("a\0b", 3));
  EXPECT_THAT(folder.error(), HasSubstr("NUL"));
  folder.write("rules.md", std::string(300 << 10, 'x'));
  EXPECT_THAT(folder.error(), HasSubstr("larger than 256 KiB"));
}

TEST(PromptTemplatesErrorsTest, AFolderThatIsNotThere) {
  llvm::Expected<PromptTemplates> templates =
      PromptTemplates::load("/no/such/folder");
  ASSERT_FALSE(templates);
  EXPECT_THAT(llvm::toString(templates.takeError()),
              HasSubstr("/no/such/folder: not a folder"));
}

} // namespace
