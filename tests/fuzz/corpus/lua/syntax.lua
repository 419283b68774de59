::top:: local a <const>, b <close> = 1, nil goto done do return 1 // 0, 2 ^ -1, ~1 & 3 | 4 ~ 5 << 6, not nil, #'x', 'a' .. 1, {f = 1; [2] = 3, 4} end ::done::
