import type { Request } from "express";
import type { Guard } from "#src/eventStore/eventStore.ts";
import { Rejected } from "#streams/decider.ts";
import type { Actor } from "#streams/event.ts";
import type { Role } from "#streams/member/roles.ts";
import type { Scope } from "./keys/scopes.ts";

type Common = {
  id: string;
  workspaceId: string;
  name: string;
  scopes: readonly string[];
  /**
   * The revision of the stream that holds its right, while it has it. Commands pass it to the append, so that nothing follows a revocation
   * (streams/README.md, invariant 7).
   */
  guard?: Guard;
};

/** A live API key. */
export type KeyPrincipal = Common & { kind: "api_key" };

/** A person who is signed in, in one of their workspaces. `id` is the session's, which changes whenever a right of theirs does. */
export type SessionPrincipal = Common & {
  kind: "session";
  user: { id: string; email: string; name: string | null };
  memberId: string;
  role: Role;
  /** When the password was last given in this session. */
  passwordAt: Date;
};

/** Who asks, and what for: the same rules count for both. */
export type Principal = KeyPrincipal | SessionPrincipal;

const maxUserAgent = 512;

/** Who asks, as events name it, with what is known of the request. */
export function actorOf(principal: Principal, request: Request): Actor {
  const userAgent = request.headers["user-agent"]?.slice(0, maxUserAgent);
  return {
    kind: principal.kind,
    ...(principal.kind === "session"
      ? { id: principal.user.id, name: principal.name, email: principal.user.email }
      : { id: principal.id, name: principal.name }),
    ...(request.ip === undefined ? {} : { ip: request.ip }),
    ...(userAgent === undefined ? {} : { userAgent }),
    requestId: String(request.id),
  };
}

/** Throws Rejected insufficient_scope. */
export function requireScope(principal: Principal, scope: Scope): void {
  if (principal.scopes.includes(scope)) return;
  const sentence =
    principal.kind === "api_key"
      ? `this API key does not have the scope ${scope}, which this request needs`
      : `your role in this workspace (${principal.role}) does not allow this: it needs the right ${scope}`;
  throw new Rejected("insufficient_scope", sentence);
}
