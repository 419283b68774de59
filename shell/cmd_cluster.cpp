// CREATE, ALTER and DROP of the machines; DRAIN and RESUME.
#include "engine/base/text.h"
#include "engine/store/cluster_records.h"
#include "engine/store/stray_records.h"
#include "shell/cmd_support.h"
#include "shell/families.h"

namespace berth {

namespace {

constexpr OptionRow kDeviceModelOptions[] = {
    {.name = "memory",
     .kind = "memory",
     .default_value = "",
     .sentence = "Memory of one device, such as 80GiB.",
     .required = true},
    {.name = "speed",
     .kind = "real",
     .default_value = "1",
     .minimum = "0.001",
     .maximum = "1000",
     .sentence = "Speed relative to a reference device."},
    {.name = "price",
     .kind = "value",
     .default_value = "usual",
     .sentence = "Of a borrowed GPU-hour in REPORT CHARGEBACK, such as 2.5; usual = the setting gpu_hour_price."},
    {.name = "family",
     .kind = "text",
     .default_value = "",
     .sentence = "A name that quotas may use for several models."},
};
constexpr OptionRow kDeviceModelChanges[] = {
    {.name = "memory", .kind = "memory", .default_value = "", .sentence = "Memory of one device."},
    {.name = "speed",
     .kind = "real",
     .default_value = "",
     .minimum = "0.001",
     .maximum = "1000",
     .sentence = "Speed relative to a reference device."},
    {.name = "price",
     .kind = "value",
     .default_value = "usual",
     .sentence = "Of a borrowed GPU-hour in REPORT CHARGEBACK, such as 2.5; usual = the setting gpu_hour_price."},
    {.name = "family",
     .kind = "text",
     .default_value = "",
     .sentence = "A name that quotas may use for several models; '' = none."},
};
constexpr OptionRow kNodeTypeOptions[] = {
    {.name = "cpu",
     .kind = "cpu",
     .default_value = "",
     .minimum = "1m",
     .sentence = "CPU cores of a node.",
     .required = true},
    {.name = "memory",
     .kind = "memory",
     .default_value = "",
     .minimum = "1MiB",
     .sentence = "Memory of a node.",
     .required = true},
    {.name = "device_model",
     .kind = "device_model",
     .default_value = "",
     .sentence = "Model of its devices; none for a CPU node."},
    {.name = "devices",
     .kind = "integer",
     .default_value = "0",
     .minimum = "0",
     .maximum = "32",
     .sentence = "Number of devices."},
    {.name = "link_groups",
     .kind = "text",
     .default_value = "",
     .sentence = "Devices that talk fast to each other, nested: '[[0 1] [2 3]] [[4 5] [6 7]]'."},
};
constexpr OptionRow kNodeTypeChanges[] = {
    {.name = "cpu", .kind = "cpu", .default_value = "", .minimum = "1m", .sentence = "CPU cores of a node."},
    {.name = "memory", .kind = "memory", .default_value = "", .minimum = "1MiB", .sentence = "Memory of a node."},
    {.name = "device_model", .kind = "device_model", .default_value = "", .sentence = "Model of its devices."},
    {.name = "devices",
     .kind = "integer",
     .default_value = "",
     .minimum = "0",
     .maximum = "32",
     .sentence = "Number of devices."},
    {.name = "link_groups",
     .kind = "text",
     .default_value = "",
     .sentence = "Devices that talk fast to each other; '' for none."},
};
constexpr OptionRow kNodeOptions[] = {
    {.name = "labels", .kind = "text", .default_value = "", .sentence = "Labels as 'key=value, key=value'."},
};
constexpr OptionRow kDrainOptions[] = {
    {.name = "reason", .kind = "text", .default_value = "", .sentence = "Why; by default who drains them."},
};
constexpr OptionRow kNodeChanges[] = {
    {.name = "type", .kind = "node_type", .default_value = "", .sentence = "Another node type."},
    {.name = "pool", .kind = "text", .default_value = "", .sentence = "Another pool; '' takes it out of its pool."},
    {.name = "rack", .kind = "text", .default_value = "", .sentence = "Another rack; '' for none."},
    {.name = "labels",
     .kind = "text",
     .default_value = "",
     .sentence = "Labels as 'key=value, key=value'; replaces those there are."},
    {.name = "state",
     .kind = "up|draining|drained|down|booting",
     .default_value = "",
     .sentence = "Another state, where the node's present one allows it; drained waits for the tasks on it."},
    {.name = "unhealthy",
     .kind = "text",
     .default_value = "",
     .sentence = "Devices that must not be used, such as '0,4-5'; '' when all are healthy."},
};

Result<Labels> read_labels(const std::string& text) {
  Labels labels;
  if (trim(text).empty()) return labels;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || trim(part.substr(0, equals)).empty()) {
      return Status(Code::kInvalid, fmt::format("'{}' is not a label", trim(part)),
                    "write labels as 'key=value, key=value'");
    }
    labels.emplace_back(trim(part.substr(0, equals)), trim(part.substr(equals + 1)));
  }
  return labels;
}

Result<Output> create_pool(Session& session, const Arguments& arguments) {
  return change_with_note(session, fmt::format("pool {} created", arguments.text("name")), [&](Change& change) {
    return blame(add_pool(change, arguments.text("name")), arguments.span("name"));
  });
}

Result<Output> alter_pool(Session& session, const Arguments& arguments) {
  return change_with_note(session, fmt::format("pool {} is now {}", arguments.text("name"), arguments.text("new_name")),
                          [&](Change& change) {
                            Status status = rename_pool(change, arguments.text("name"), arguments.text("new_name"));
                            const bool about_new = status.code() != Code::kNotFound;
                            return blame(std::move(status), arguments.span(about_new ? "new_name" : "name"));
                          });
}

Result<Output> drop_pool_statement(Session& session, const Arguments& arguments) {
  return change_with_note(session, fmt::format("pool {} dropped", arguments.text("name")), [&](Change& change) {
    return blame(drop_pool(change, arguments.text("name")), arguments.span("name"));
  });
}

// In thousandths, or kUsualPrice.
Result<std::int64_t> read_price(const Options& options) {
  constexpr std::int64_t kMostPrice = 1'000'000'000;
  const std::string& text = options.text("price");
  if (equals_ignoring_case(text, "usual")) return kUsualPrice;
  const Result<std::int64_t> price = read_scaled(text, 1000);
  if (price.ok() && *price <= kMostPrice) return price;
  return options.fail("price", Code::kInvalid,
                      fmt::format("'{}' is not a price: a number from 0 to 1,000,000 with at most 3 decimals", text),
                      "usual = the setting gpu_hour_price");
}

Result<Output> create_device_model(Session& session, const Arguments& arguments) {
  BERTH_ASSIGN(const std::int64_t price, read_price(arguments.options()));
  const DeviceModelRequest request{.name = arguments.text("name"),
                                   .memory = arguments.options().memory("memory"),
                                   .speed = arguments.options().real("speed"),
                                   .family = arguments.options().text_or("family", ""),
                                   .price_milli = price == kUsualPrice ? std::nullopt : std::optional(price)};
  return change_with_note(session, fmt::format("device model {} created", request.name), [&](Change& change) {
    return blame(add_device_model(change, request), arguments.span("name"));
  });
}

Result<Output> alter_device_model_statement(Session& session, const Arguments& arguments) {
  const Options& options = arguments.options();
  DeviceModelAlteration alteration;
  if (options.given("memory")) alteration.memory = options.memory("memory");
  if (options.given("speed")) alteration.speed = options.real("speed");
  if (options.given("family")) alteration.family = options.text("family");
  if (options.given("price")) {
    BERTH_ASSIGN(alteration.price_milli, read_price(options));
  }
  return change_with_note(session, fmt::format("device model {} altered", arguments.text("name")), [&](Change& change) {
    return blame(alter_device_model(change, arguments.text("name"), alteration), arguments.span("name"));
  });
}

Result<Output> drop_device_model_statement(Session& session, const Arguments& arguments) {
  return change_with_note(session, fmt::format("device model {} dropped", arguments.text("name")), [&](Change& change) {
    return blame(drop_device_model(change, arguments.text("name")), arguments.span("name"));
  });
}

Result<Output> create_node_type(Session& session, const Arguments& arguments) {
  const Options& options = arguments.options();
  const NodeTypeRequest request{.name = arguments.text("name"),
                                .cpu = options.cpu("cpu"),
                                .memory = options.memory("memory"),
                                .device_model = options.text_or("device_model", ""),
                                .device_count = static_cast<int>(options.integer("devices")),
                                .link_groups = options.text_or("link_groups", "")};
  return change_with_note(session, fmt::format("node type {} created", request.name),
                          [&](Change& change) { return arguments.point(add_node_type(change, request), "name"); });
}

Result<Output> alter_node_type_statement(Session& session, const Arguments& arguments) {
  const Options& options = arguments.options();
  NodeTypeAlteration alteration;
  if (options.given("cpu")) alteration.cpu = options.cpu("cpu");
  if (options.given("memory")) alteration.memory = options.memory("memory");
  if (options.given("device_model")) alteration.device_model = options.text("device_model");
  if (options.given("devices")) alteration.device_count = static_cast<int>(options.integer("devices"));
  if (options.given("link_groups")) alteration.link_groups = options.text("link_groups");
  return change_with_note(session, fmt::format("node type {} altered", arguments.text("name")), [&](Change& change) {
    return arguments.point(alter_node_type(change, arguments.text("name"), alteration), "name");
  });
}

Result<Output> drop_node_type_statement(Session& session, const Arguments& arguments) {
  return change_with_note(session, fmt::format("node type {} dropped", arguments.text("name")), [&](Change& change) {
    return blame(drop_node_type(change, arguments.text("name")), arguments.span("name"));
  });
}

Result<Output> create_nodes(Session& session, const Arguments& arguments) {
  BERTH_ASSIGN(const std::vector<std::string> names, expand_names(arguments.list("names")));
  Result<Labels> labels = read_labels(arguments.options().text_or("labels", ""));
  if (!labels.ok())
    return arguments.options().fail("labels", labels.status().code(), labels.status().message(),
                                    labels.status().hint());
  std::vector<NodeRequest> requests;
  requests.reserve(names.size());
  for (const std::string& name : names) {
    requests.push_back({.name = name,
                        .type = arguments.text("type"),
                        .pool = arguments.text_or("pool", ""),
                        .rack = arguments.text_or("rack", ""),
                        .labels = *labels});
  }
  return change_with_note(session, fmt::format("{} created", counted(static_cast<std::int64_t>(names.size()), "node")),
                          [&](Change& change) -> Status {
                            Status status = arguments.point(add_nodes(change, requests));
                            return blame(std::move(status), arguments.list("names").front().span);
                          });
}

Result<Output> alter_nodes_statement(Session& session, const Arguments& arguments) {
  BERTH_ASSIGN(const std::vector<std::string> names, expand_known_names(arguments.list("names")));
  const Options& options = arguments.options();
  NodeAlteration alteration;
  if (options.given("type")) alteration.type = options.text("type");
  if (options.given("pool")) alteration.pool = options.text("pool");
  if (options.given("rack")) alteration.rack = options.text("rack");
  if (options.given("labels")) {
    Result<Labels> labels = read_labels(options.text("labels"));
    if (!labels.ok())
      return options.fail("labels", labels.status().code(), labels.status().message(), labels.status().hint());
    alteration.labels = *std::move(labels);
  }
  DeviceMask unhealthy = 0;
  if (options.given("unhealthy")) {
    const Result<DeviceMask> mask = read_device_mask(options.text("unhealthy"));
    if (!mask.ok()) return options.fail("unhealthy", mask.status().code(), mask.status().message());
    unhealthy = *mask;
  }
  return change_with_note(
      session, fmt::format("{} altered", counted(static_cast<std::int64_t>(names.size()), "node")),
      [&](Change& change) -> Status {
        const Span at = arguments.list("names").front().span;
        if (alteration.type || alteration.pool || alteration.rack || alteration.labels) {
          if (Status status = alter_nodes(change, names, alteration); !status.ok()) return blame(std::move(status), at);
        }
        if (options.given("state")) {
          BERTH_ASSIGN(const NodeState state, read_node_state(options.text("state")));
          if (Status status = order_node_state(change, names, state); !status.ok()) return blame(std::move(status), at);
        }
        for (const std::string& name : options.given("unhealthy") ? names : std::vector<std::string>()) {
          BERTH_ASSIGN(
              Statement row,
              change.db().prepare(
                  "SELECT t.device_count FROM nodes n JOIN node_types t ON t.id = n.type_id WHERE n.name = ?1"));
          row.with(name);
          const std::int64_t count = row.next() ? row.integer(0) : 0;
          const DeviceMask all = count == 0 ? 0 : ~DeviceMask{0} >> (64 - count);
          if ((unhealthy & ~all) != 0)
            return options.fail("unhealthy", Code::kInvalid,
                                fmt::format("node {} has {}", name, counted(count, "device")));
          if ((all & ~unhealthy) != 0)
            BERTH_TRY(blame(set_device_health(change, name, all & ~unhealthy, Health::kHealthy), at));
          if (unhealthy != 0) BERTH_TRY(blame(set_device_health(change, name, unhealthy, Health::kUnhealthy), at));
        }
        return {};
      });
}

template <class Function>
Result<Output> change_nodes(Session& session, const Arguments& arguments, Function function, std::string_view done) {
  BERTH_ASSIGN(const std::vector<std::string> names, expand_known_names(arguments.list("names")));
  return change_with_note(
      session, fmt::format("{} {}", counted(static_cast<std::int64_t>(names.size()), "node"), done),
      [&](Change& change) { return blame(function(change, names), arguments.list("names").front().span); });
}

// Of those that the statement names.
Result<std::int64_t> count_in_state(Session& session, const Arguments& arguments, std::string_view condition) {
  BERTH_ASSIGN(const std::vector<std::string> names, expand_known_names(arguments.list("names")));
  BERTH_ASSIGN(Statement row,
               engine_of(session).db().prepare(fmt::format("SELECT 1 FROM nodes WHERE name = ?1 AND {}", condition)));
  std::int64_t count = 0;
  for (const std::string& name : names) {
    if (row.with(name).next()) ++count;
    BERTH_TRY(row.status());
  }
  return count;
}

Result<Output> drop_nodes_statement(Session& session, const Arguments& arguments) {
  return change_nodes(session, arguments, drop_nodes, "dropped");
}
std::string already_words(std::int64_t count) {
  return count == 0 ? std::string() : fmt::format(" ({} of them already)", count);
}

Result<Output> drain_nodes_statement(Session& session, const Arguments& arguments) {
  const std::string reason = arguments.options().text_or("reason", "");
  BERTH_ASSIGN(const std::int64_t already, count_in_state(session, arguments, "id IN (SELECT node_id FROM drains)"));
  return change_nodes(
      session, arguments,
      [&](Change& change, std::span<const std::string> names) { return drain_nodes(change, names, reason); },
      fmt::format("draining: nothing new starts there, what runs there goes on{}", already_words(already)));
}
Result<Output> resume_nodes_statement(Session& session, const Arguments& arguments) {
  BERTH_ASSIGN(const std::int64_t already, count_in_state(session, arguments, "state = 'up'"));
  BERTH_ASSIGN(const std::vector<std::string> names, expand_known_names(arguments.list("names")));
  BERTH_ASSIGN(std::vector<std::string> closed, nodes_of_strays(engine_of(session).db()));
  std::erase_if(closed, [&](const std::string& node) { return std::ranges::find(names, node) == names.end(); });
  BERTH_ASSIGN(Output output,
               change_nodes(session, arguments, resume_nodes, fmt::format("up again{}", already_words(already))));
  if (!closed.empty()) {
    constexpr std::size_t kMostNamed = 5;
    output.add_note(fmt::format("warning: the next sync closes {} again: stray tasks run there; STOP STRAYS ends them",
                                join_some(closed, kMostNamed)));
  }
  return output;
}

constexpr std::string_view kClusterFamily = "cluster";

constexpr CommandRow kClusterRows[] = {
    {.family = kClusterFamily,
     .syntax = "CREATE POOL <name:new_name>",
     .effect = Effect::kChanges,
     .handler = create_pool,
     .summary = "Makes a pool, a set of nodes that jobs can ask for.",
     .example = "CREATE POOL train"},
    {.family = kClusterFamily,
     .syntax = "ALTER POOL <name:pool> RENAME TO <new_name:new_name>",
     .effect = Effect::kChanges,
     .handler = alter_pool,
     .summary = "Renames a pool.",
     .example = "ALTER POOL train RENAME TO training"},
    {.family = kClusterFamily,
     .syntax = "DROP POOL <name:pool>",
     .effect = Effect::kChanges,
     .handler = drop_pool_statement,
     .summary = "Removes a pool that no node is in and no job asks for, ended ones included.",
     .example = "DROP POOL train",
     .ask = ask_always},
    {.family = kClusterFamily,
     .syntax = "CREATE DEVICE MODEL <name:new_name> WITH (<options>)",
     .effect = Effect::kChanges,
     .handler = create_device_model,
     .summary = "Describes a model of accelerator.",
     .example = "CREATE DEVICE MODEL A100 WITH (memory = 80GiB)",
     .options = kDeviceModelOptions},
    {.family = kClusterFamily,
     .syntax = "ALTER DEVICE MODEL <name:device_model> SET (<options>)",
     .effect = Effect::kChanges,
     .handler = alter_device_model_statement,
     .summary = "Changes a device model; refused when running tasks would no longer fit.",
     .example = "ALTER DEVICE MODEL A100 SET (memory = 40GiB)",
     .options = kDeviceModelChanges},
    {.family = kClusterFamily,
     .syntax = "DROP DEVICE MODEL <name:device_model>",
     .effect = Effect::kChanges,
     .handler = drop_device_model_statement,
     .summary = "Removes a device model that no node type has.",
     .example = "DROP DEVICE MODEL A100",
     .ask = ask_always},
    {.family = kClusterFamily,
     .syntax = "CREATE NODE TYPE <name:new_name> WITH (<options>)",
     .effect = Effect::kChanges,
     .handler = create_node_type,
     .summary = "Describes a kind of machine: CPU, memory, devices and how they are linked.",
     .example = "CREATE NODE TYPE a100x8 WITH (cpu = 96, memory = 1TiB, device_model = A100, devices = 8, link_groups "
                "= '[0 1 2 3] [4 5 6 7]')",
     .options = kNodeTypeOptions},
    {.family = kClusterFamily,
     .syntax = "ALTER NODE TYPE <name:node_type> SET (<options>)",
     .effect = Effect::kChanges,
     .handler = alter_node_type_statement,
     .summary = "Changes a node type and so all its nodes; refused when running tasks would no longer fit.",
     .example = "ALTER NODE TYPE a100x8 SET (cpu = 128)",
     .options = kNodeTypeChanges},
    {.family = kClusterFamily,
     .syntax = "DROP NODE TYPE <name:node_type>",
     .effect = Effect::kChanges,
     .handler = drop_node_type_statement,
     .summary = "Removes a node type that no node has.",
     .example = "DROP NODE TYPE a100x8",
     .ask = ask_always},
    {.family = kClusterFamily,
     .syntax = "CREATE {NODE | NODES} <names:new_nodes>, ... TYPE <type:node_type> [IN POOL <pool:pool>] [RACK "
               "<rack:text>] [WITH (<options>)]",
     .effect = Effect::kChanges,
     .handler = create_nodes,
     .summary = "Adds machines, one or a whole range.",
     .example = "CREATE NODES train[001-064] TYPE a100x8 IN POOL train RACK r1",
     .options = kNodeOptions},
    {.family = kClusterFamily,
     .syntax = "ALTER {NODE | NODES} <names:node_range>, ... SET (<options>)",
     .effect = Effect::kChanges,
     .handler = alter_nodes_statement,
     .summary = "Changes machines: type, pool, rack, labels, state, unhealthy devices.",
     .example = "ALTER NODE train001 SET (unhealthy = '3', rack = r2)",
     .options = kNodeChanges},
    {.family = kClusterFamily,
     .syntax = "DROP {NODE | NODES} <names:node_range>, ...",
     .effect = Effect::kChanges,
     .handler = drop_nodes_statement,
     .summary = "Removes machines that run nothing.",
     .example = "DROP NODES train[063-064]",
     .ask = ask_always},
    {.family = kClusterFamily,
     .syntax = "DRAIN {NODE | NODES} <names:node_range>, ... [WITH (<options>)]",
     .effect = Effect::kChanges,
     .handler = drain_nodes_statement,
     .summary = "Lets nothing new start on machines; they are drained when their last task has ended.",
     .example = "DRAIN NODE train001 WITH (reason = 'memory errors')",
     .options = kDrainOptions,
     .details = "A node that is down or boots is drained at once: it does not go to work when it comes back. The next "
                "RUN SYNC passes it on: Slurm drains them, Kubernetes cordons them, with this reason, until "
                "RESUME NODE. Before a node leaves Berth or its pool another executor, resume it."},
    {.family = kClusterFamily,
     .syntax = "RESUME {NODE | NODES} <names:node_range>, ...",
     .effect = Effect::kChanges,
     .handler = resume_nodes_statement,
     .summary = "Puts machines back to work.",
     .example = "RESUME NODE train001",
     .details =
         "The next RUN SYNC takes back the drain or cordon that DRAIN NODE made in Slurm or Kubernetes. One that "
         "somebody else made there is never lifted: the node drains again."},
};

}  // namespace

std::span<const CommandRow> cluster_commands() { return kClusterRows; }

}  // namespace berth
