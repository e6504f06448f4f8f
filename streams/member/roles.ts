/** What a person may be in a workspace, most rights first. What each may do is in src/http/framework/roles.ts. */
export const roles = ["owner", "admin", "approver", "auditor"] as const;

export type Role = (typeof roles)[number];
