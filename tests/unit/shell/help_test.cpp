#include "shell/help.h"

#include <gtest/gtest.h>

#include "shell/render.h"
#include "tests/unit/shell/example_commands.h"

namespace berth {
namespace {

Result<Output> help(std::string_view words) {
  const Result<CommandTable::Call> call = example::table().parse("HELP " + std::string(words));
  EXPECT_TRUE(call.ok());
  return help_on(example::table(), call->arguments.list("words"), 100);
}

std::string shown(std::string_view words) {
  const Result<Output> output = help(words);
  return output.ok() ? render(*output, Display{})
                     : "error: " + output.status().message() + " / " + output.status().hint();
}

TEST(Help, TellsEverythingAboutAStatement) {
  EXPECT_EQ(shown("create node type"),
            "CREATE NODE TYPE <name> [WITH (<options>)]\n"
            "  Describes a kind of node.\n"
            "\n"
            "    name  a name of letters, digits and _ - . (others in \"quotes\")\n"
            "\n"
            "  options\n"
            "    cpu = cpu  (default 1; 0.5 to 512)\n"
            "        CPU cores.\n"
            "    memory = memory  (default 1GiB)\n"
            "        Memory.\n"
            "    model = device model\n"
            "        Device model.\n"
            "    boot = duration  (default 5m)\n"
            "        Time to boot.\n"
            "    link = none|nvlink|pcie  (default none)\n"
            "        How devices are linked.\n"
            "    spare = boolean  (default false)\n"
            "        Kept out of use.\n"
            "    weight = real  (default 1.0; at least 0)\n"
            "        Preference.\n"
            "\n"
            "  values\n"
            "    cpu       CPU cores: 96, 0.5 or 500m\n"
            "    memory    memory: 40GiB = 40Gi = 40G, 512MiB, 2TiB (not GB: thousands); a bare number is MiB\n"
            "    duration  a duration: 90m, 2h, 1d12h, 45s; a bare number is seconds\n"
            "\n"
            "  example\n"
            "    CREATE NODE TYPE a100x8 WITH (cpu = 96);\n");
}

TEST(Help, ListsWhatBeginsWithTheWords) {
  const std::string nodes = shown("CREATE NODE");
  EXPECT_TRUE(nodes.starts_with("CREATE {NODE | NODES} <names>, ... TYPE <type>")) << nodes;
  EXPECT_NE(nodes.find("CREATE NODE TYPE"), std::string::npos) << nodes;
  EXPECT_TRUE(shown("SUBMIT").find("task options\n    gpu = gpu  (required)") != std::string::npos) << shown("SUBMIT");
}

TEST(Help, ListsFamilies) {
  EXPECT_EQ(shown("run"), "run\n  SIMULATE USING  Simulates.\n  APPLY PLAN      Applies a plan.\n");
  const std::string all = render(help_overview(example::table(), 100), Display{});
  for (const char* family : {"cluster\n", "\njobs\n", "\nrun\n", "\nterminal\n"})
    EXPECT_NE(all.find(family), std::string::npos) << family;
}

TEST(Help, FindsWordsInsideStatementsAndOptions) {
  EXPECT_EQ(shown("link"), "cluster\n  CREATE NODE TYPE  Describes a kind of node.\n");
  EXPECT_NE(shown("pool").find("SHOW NODES"), std::string::npos) << shown("pool");
}

TEST(Help, NamesTheNearest) {
  EXPECT_EQ(shown("CRAETE"), "error: no statement begins with 'CRAETE' / did you mean 'CREATE'?");
  EXPECT_EQ(shown("SHOW NODSE"), "error: no statement begins with 'SHOW NODSE' / did you mean 'SHOW NODES'?");
  EXPECT_EQ(shown("xyzzy"), "error: no statement begins with 'xyzzy' / HELP lists the statements");
}

TEST(Help, IsDataForPrograms) {
  Display display;
  display.mode = OutputMode::kCsv;
  const std::string csv = render(*help("APPLY PLAN"), display);
  EXPECT_EQ(csv,
            "statement,family,effect,syntax,summary,example\nAPPLY PLAN,run,changes,APPLY PLAN <plan>,Applies a "
            "plan.,APPLY PLAN 3\n");
}

}  // namespace
}  // namespace berth
