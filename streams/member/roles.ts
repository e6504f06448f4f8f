/** What a member may be in a workspace. */
export type Role = "owner" | "admin" | "approver" | "auditor";
