import type { Role } from "#streams/member/roles.ts";

/** Path of the page that a person sees first. Auditors decide nothing, so theirs is not the review page. */
export const firstPageOf = (role: Role | undefined): string => (role === "auditor" ? "/audit" : "/review");
