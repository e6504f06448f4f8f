import type { AuthLimits } from "../auth/limits.ts";
import type { HttpDependencies } from "../dependencies.ts";

/** What pages work with: the routes do the work; read models are asked directly only for what no route answers. */
export type ConsoleDependencies = HttpDependencies & {
  /** Bounds how often somebody who is signed in may guess the password. */
  limits: Pick<AuthLimits, "guarding">;
};
