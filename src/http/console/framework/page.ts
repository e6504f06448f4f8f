import type { Markup, Value } from "#src/html/html.ts";
import type { Reply } from "../../framework/reply.ts";
import type { Notice } from "./notices.ts";
import type { Visit } from "./visit.ts";

/** What the console answers: a page, another place to go to, or a file. */
export type ConsoleAnswer =
  | { kind: "page"; page: Shown }
  | { kind: "elsewhere"; path: string; notice: Notice | undefined }
  | { kind: "reply"; reply: Reply };

export type Shown = {
  /** Tells the outcome first. */
  title: string;
  /** Starts with the h1. */
  main: Value;
  status?: number;
  /** The place in the navigation, if its path does not tell. */
  current?: string;
  /** More than a column of text: lists beside letters. */
  wide?: boolean;
  /** In the head: nothing usually. */
  head?: Markup;
};

export type ConsoleOptions = {
  /** Only for who gave the password in the last 10 minutes; others are led to where it is typed, and back. */
  sensitive?: true;
  /** Who is not signed in is not led to sign in: this address has a page for them too, elsewhere. */
  alsoSignedOut?: true;
  /** Sent twice, this form has its effect once: for what makes something new. */
  once?: true;
  /** Server-sent events instead of a page: asked for by the script of one. Who is not signed in gets 401. */
  events?: true;
};

type ConsoleLine = `${"GET" | "POST"} /${string}`;

/** One page or form of the console. */
export type ConsoleRoute = {
  method: "GET" | "POST";
  path: string;
  options: ConsoleOptions;
  handler: (visit: Visit) => Promise<ConsoleAnswer>;
};

const consoleRoute = (line: ConsoleLine, options: ConsoleOptions, handler: ConsoleRoute["handler"]): ConsoleRoute => {
  const [method, path] = line.split(" ") as ["GET" | "POST", string];
  return { method, path, options, handler };
};

/** A page: looking at it changes nothing. */
export const consolePage = (
  line: `GET /${string}`,
  handler: ConsoleRoute["handler"],
  options: ConsoleOptions = {},
): ConsoleRoute => consoleRoute(line, options, handler);

/** What a form does. That it comes from a page of this session is known when the handler is called. */
export const consoleForm = (
  line: `POST /${string}`,
  handler: ConsoleRoute["handler"],
  options: ConsoleOptions = {},
): ConsoleRoute => consoleRoute(line, options, handler);

export const shown = (page: Shown): ConsoleAnswer => ({ kind: "page", page });

/** After a form: the page at `path` is fetched, and says the notice once, at its top. */
export const seeOther = (path: string, notice?: Notice): ConsoleAnswer => ({ kind: "elsewhere", path, notice });

/** A file, or anything else that is no page. */
export const download = (reply: Reply): ConsoleAnswer => ({ kind: "reply", reply });
