/**
 * The lease of the one instance that plans the work of all processes. `planner` was its name while every process had a position of its own:
 * an instance of then cannot read the positions of those in step, and must not keep others from planning.
 */
export const plannerLease = "planning";
