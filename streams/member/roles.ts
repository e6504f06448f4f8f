/** Roles of a person in a workspace, most rights first. Their rights are in src/http/framework/roles.ts. */
export const roles = ["owner", "admin", "approver", "auditor"] as const;

export type Role = (typeof roles)[number];
