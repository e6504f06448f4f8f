import type { Static, TObject, TSchema } from "typebox";
import type { SignedIn } from "#src/commands/users/signIn.ts";
import type { By } from "#src/commands/users/users.ts";
import type { Value } from "#src/html/html.ts";
import type { Session } from "#src/platform/accounts/sessions.ts";
import type { ErrorCode } from "../framework/errors.ts";
import { type Route, route } from "../framework/route.ts";
import type { AuthClass } from "./limits.ts";

/** What a form that was refused shows again: what was typed, but for passwords, and why it was refused. */
export type FormState = {
  values: URLSearchParams;
  refused?: { message: string; field?: string | undefined } | undefined;
  /** What forms of who is signed in carry. */
  formToken: string;
};

/** A page around a form. */
export type FormPage = { title: string; main: Value };

/** What an action comes to. `next`: where a form goes on to. */
export type Done = {
  json: unknown;
  next: string;
  /** The cookie of a new session, or of the same under a new token; null takes the cookie away. */
  token?: string | null;
  /** Sessions that nothing may be answered under any more. */
  ended?: readonly string[];
};

export type AuthCall<Body> = {
  body: Body;
  by: By;
  /** The session the browser came with, no matter whose. */
  session: Session | undefined;
  /** Where a form wants to go on to: a path of this service. */
  next: string;
  /** Runs what tells whether a password of this account was right. */
  guarding<T>(account: string, work: () => Promise<T>): Promise<T>;
};

type Options<B extends TObject> = {
  /** Counted together, by the address of the internet. */
  limit: AuthClass;
  summary: string;
  description?: string;
  body: B;
  answers: TSchema;
  status?: 200 | 201 | 202;
  errors?: readonly ErrorCode[];
};

/** One action of /auth: as JSON, and as a form if it has a page to be shown on. */
export type AuthAction = {
  /** For the documents, and for the checks of bodies and answers. */
  route: Route;
  limit: AuthClass;
  needsSession: boolean;
  /** Done for who is signed in, unless a password comes with it, which makes a user. */
  orSession: boolean;
  form: ((state: FormState) => FormPage | Promise<FormPage>) | undefined;
  handler(call: AuthCall<any>, who: SignedIn): Promise<Done>;
};

const declared = (
  line: `POST /auth/${string}` | `GET /auth/${string}`,
  { limit: _, ...options }: Options<TObject>,
): Route =>
  route(line, { ...options, scope: null, limit: "auth" }, async () => {
    throw new Error(`${line} is answered by src/http/auth/serve.ts`);
  });

/** For anybody. */
export const authAction = <const B extends TObject>(
  line: `POST /auth/${string}`,
  { form, orSession = false, ...options }: Options<B> & { form: AuthAction["form"]; orSession?: boolean },
  handler: (call: AuthCall<Static<B>>) => Promise<Done>,
): AuthAction => ({
  ...{ route: declared(line, options), limit: options.limit, needsSession: false, orSession, form, handler },
});

/** For who is signed in. */
export const signedInAction = <const B extends TObject>(
  line: `POST /auth/${string}` | `GET /auth/${string}`,
  { form, ...options }: Options<B> & { form: AuthAction["form"] },
  handler: (call: AuthCall<Static<B>>, who: SignedIn) => Promise<Done>,
): AuthAction => ({
  ...{ route: declared(line, options), limit: options.limit, needsSession: true, orSession: false, form, handler },
});
