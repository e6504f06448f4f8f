import type { Role } from "#streams/member/roles.ts";
import { allScopes, peoplesScopes, type Scope } from "./keys/scopes.ts";

/** What an admin leaves to the owners. That an admin makes, changes and removes no owners is a rule of streams/member. */
const ownersOnly: readonly Scope[] = ["write:billing", "write:keys"];

/** What no key can be given. */
const decisions = Object.keys(peoplesScopes) as Scope[];

const scopesByRole: Record<Role, readonly Scope[]> = {
  owner: [...allScopes, ...decisions],
  admin: [...allScopes.filter((scope) => !ownersOnly.includes(scope)), ...decisions],
  approver: ["read:threads", "write:drafts", "read:identities", ...decisions],
  auditor: allScopes.filter((scope) => scope.startsWith("read:")),
};

/** What a signed-in member of this role may do. The table that routes, pages and tests go by. */
export const scopesOf = (role: Role): readonly Scope[] => scopesByRole[role];
