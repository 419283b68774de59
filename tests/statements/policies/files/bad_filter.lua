function feasible(node, shape) return node.rack == "r1" end
