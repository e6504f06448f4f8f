import type { Role } from "#streams/member/roles.ts";
import { allScopes, peoplesScopes, type Scope } from "./keys/scopes.ts";

/** Scopes that owners have and admins do not. (Admins cannot add, change or remove owners either: a rule of streams/member.) */
const ownersOnly: readonly Scope[] = ["write:billing", "write:keys"];

/** Scopes that no key can have. */
const decisions = Object.keys(peoplesScopes) as Scope[];

const scopesByRole: Record<Role, readonly Scope[]> = {
  owner: [...allScopes, ...decisions],
  admin: [...allScopes.filter((scope) => !ownersOnly.includes(scope)), ...decisions],
  approver: ["read:threads", "write:drafts", "read:identities", ...decisions],
  auditor: allScopes.filter((scope) => scope.startsWith("read:")),
};

/** Scopes of a signed-in member by role. Routes, pages and tests use this table. */
export const scopesOf = (role: Role): readonly Scope[] => scopesByRole[role];
