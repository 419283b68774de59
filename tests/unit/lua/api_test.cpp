// scripts/api.lua says what policies see, as the engine does; and every view has the fields that it names.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "engine/lua/policy_api.h"

namespace berth {
namespace {

TEST(PolicyApi, AnnotationsAreThoseOfTheEngine) {
  std::ifstream file("scripts/api.lua", std::ios::binary);
  const std::string kept{std::istreambuf_iterator<char>(file), {}};
  if (kept == policy_annotations()) return;
  const std::string made = testing::TempDir() + "api.lua";
  std::ofstream(made, std::ios::binary) << policy_annotations();
  FAIL() << "the API has changed: cp " << made << " scripts/api.lua";
}

TEST(PolicyApi, FieldsOfAViewStandTogetherAndOnce) {
  std::string before;
  std::vector<std::string> seen;
  std::vector<std::string> views;
  for (const ViewField& field : policy_view_fields()) {
    const std::string name = std::string(field.view) + "." + std::string(field.name);
    EXPECT_EQ(std::count(seen.begin(), seen.end(), name), 0) << name;
    seen.push_back(name);
    if (field.view != before) {
      EXPECT_EQ(std::count(views.begin(), views.end(), field.view), 0) << field.view;
      views.emplace_back(field.view);
    }
    before = field.view;
  }
}

}  // namespace
}  // namespace berth
