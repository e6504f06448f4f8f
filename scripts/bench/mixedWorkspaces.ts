import type { Bench } from "./bench.ts";
import { measureMix } from "./mixed.ts";

const workspaces = 200;

/** As `mixed`, but the threads are shared out among many workspaces, which are asked in turns. */
export const bench: Bench = {
  size: 20_000,
  unit: `threads in ${workspaces} workspaces`,
  run: (server, size) => measureMix(server, { threads: size, workspaces }),
};
