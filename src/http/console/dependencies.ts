import type { AuthLimits } from "../auth/limits.ts";
import type { HttpDependencies } from "../dependencies.ts";

/** Dependencies of pages. Routes do the work; pages read read models directly only if no route answers the question. */
export type ConsoleDependencies = HttpDependencies & {
  /** Limits how often a signed-in person may guess the password. */
  limits: Pick<AuthLimits, "guarding">;
};
