import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import type {
  DecideRequest,
  DecisionResult,
  FetchedFile,
  LinkedApproval,
  UndoRequest,
} from "#src/channels/approvalDecisions.ts";
import type { NextOnList } from "#src/channels/approvalList.ts";
import type { Renewal, RenewalRequest } from "#src/channels/approvalRenewal.ts";
import { approvalPages } from "#src/http/approvalPages/router.ts";
import { carded, ordinary } from "#test/channels/email/examples.ts";

export const token = "T0ken_of-256-bits-as-base64url-43-letters-x";
export const list = "L1st_of-256-bits-as-base64url-43-letters-xyz".slice(0, 43);

/** The pages on a real socket, with a look-up and a decision that record how they were asked. Times begin on 20 Nov 2026, 12:00 UTC. */
export class ApprovalPagesServer {
  view: Partial<Omit<LinkedApproval, "card">> = {};
  result: () => Promise<DecisionResult> = async () => ({ kind: "approved", sending: true });
  findFails: Error | undefined;
  now = new Date("2026-11-20T12:00:00Z");
  readonly found: string[] = [];
  /** The first attachment; null where the link shows none. */
  file: FetchedFile | null = null;
  readonly fetched: [token: string, n: number][] = [];
  /** Number of unknown links that were counted. */
  unknown = 0;
  readonly decided: DecideRequest[] = [];
  readonly undone: UndoRequest[] = [];
  /** What the page of an expired link can do; `renewed`: after a press. */
  renewal: Renewal = { ...{ workspaceId: "w1", workspaceName: "Harbour" }, kind: "elsewhere" };
  renewed: Renewal = this.renewal;
  readonly renewals: RenewalRequest[] = [];
  /** Workspaces whose requests to notify were counted, and what the count throws. */
  readonly notified: string[] = [];
  notifyFails: Error | undefined;
  /** The answer about the next draft on `list`. */
  next: NextOnList = { token: null };
  readonly errors: unknown[] = [];
  readonly server: Server;

  constructor() {
    const app = express().disable("x-powered-by");
    app.use((request, _, next) => {
      (request as { id?: string }).id = "request-1";
      next();
    });
    app.use(
      approvalPages({
        find: async (asked) => {
          this.found.push(asked);
          if (this.findFails) throw this.findFails;
          const view = { ...ordinary, superseded: false, action: "approve", closed: null, ...this.view } as const;
          return asked === token ? carded(view) : undefined;
        },
        decide: async (request) => {
          this.decided.push(request);
          return this.result();
        },
        undo: async (request) => {
          this.undone.push(request);
          return { kind: "undone" };
        },
        renewal: async (asked) => (asked === token ? this.renewal : undefined),
        renew: async (request) => {
          this.renewals.push(request);
          return this.renewed;
        },
        countNotify: async (workspaceId) => {
          this.notified.push(workspaceId);
          if (this.notifyFails) throw this.notifyFails;
        },
        next: async (listToken) => (listToken === list ? this.next : undefined),
        previewEdit: async () => ({ kind: "unknown" }),
        attachment: async (asked, n) => {
          this.fetched.push([asked, n]);
          if (this.findFails) throw this.findFails;
          return asked === token ? (n === 1 ? this.file : null) : undefined;
        },
        countUnknown: async () => {
          this.unknown += 1;
        },
        nonceKey: Buffer.alloc(32, 7),
        clock: { now: () => this.now },
        onError: (error) => this.errors.push(error),
      }),
    );
    this.server = createServer(app);
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    return this;
  }

  url(path = `/a/${token}`): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}${path}`;
  }

  async get(path = `/a/${token}`, method = "GET"): Promise<Answer> {
    return answer(await fetch(this.url(path), { method }));
  }

  async post(fields: Record<string, string> | string, path = `/a/${token}`): Promise<Answer> {
    const body = new URLSearchParams(fields);
    return answer(await fetch(this.url(path), { method: "POST", body, headers: { "user-agent": "a browser" } }));
  }

  /** The nonce that the page carries for a choice. */
  async nonce(decision: "approve" | "reject" | "undo"): Promise<string> {
    return nonceIn((await this.get()).body, decision);
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

export type Answer = { status: number; headers: Headers; body: string; title: string };

async function answer(response: Response): Promise<Answer> {
  const body = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body,
    title: /<title>(.*?)<\/title>/s.exec(body)?.[1] ?? "",
  };
}

export function nonceIn(body: string, decision: "approve" | "reject" | "undo" | "renew"): string {
  const form = body.split("<form").find((part) => part.includes(`value="${decision}"`)) ?? "";
  return /name="nonce" value="([^"]+)"/.exec(form)?.[1] ?? "";
}
