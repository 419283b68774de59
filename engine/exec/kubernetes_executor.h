// Jobs as pods of a Kubernetes cluster, driven through kubectl.
//
// Every task is a pod of one container, named by its task key and labelled with berth/database, berth/job and so on,
// placed by Berth on the node that was planned; no scheduler of the cluster has a say (kubernetes_manifest.h tells what
// a pod looks like, kubernetes_launch.h why none starts twice). Nothing is kept but the pods themselves. Only pods with
// the label of this database are ever touched, and no node.
//
// Rights: examples/kubernetes/rbac.yaml. Without those on all namespaces, other people's pods are seen in our own
// namespace only, and nodes say so; without pods/exec, signals that do not end a task are refused.
//
// Not known here: peak use of tasks (it takes a metrics server), which device of a node a task got (the device plugin
// keeps that to itself), a container's standard error apart from its output.
#pragma once

#include "engine/exec/executor.h"
#include "engine/exec/kubernetes_settings.h"

namespace berth {

Result<std::unique_ptr<Executor>> make_kubernetes_executor(const ExecutorContext& context,
                                                           const ExecutorOptions& options);

}  // namespace berth
