/** The lease of the one instance that plans the work of all processes. */
export const plannerLease = "planning";
