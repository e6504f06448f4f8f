import type { Markup, MarkupValue } from "#src/html/html.ts";
import type { Reply } from "../../framework/reply.ts";
import type { Notice } from "./notices.ts";
import type { PageContext } from "./pageContext.ts";

/** The console's answers: a page, a redirect, or a file. */
export type ConsoleAnswer =
  | { kind: "page"; page: ConsolePage }
  | { kind: "elsewhere"; path: string; notice: Notice | undefined }
  | { kind: "reply"; reply: Reply };

export type ConsolePage = {
  /** States the outcome first. */
  title: string;
  /** Starts with the h1. */
  main: MarkupValue;
  status?: number;
  /** The path of the current link in the navigation, if the page's own path does not start with it. */
  current?: string;
  /** Wider than a text column: for lists next to mails. */
  wide?: boolean;
  /** Additional elements for the head; usually none. */
  head?: Markup;
};

export type ConsoleRouteOptions = {
  /** Requires a password entered within 10 minutes; otherwise redirects to the password page and back. */
  sensitive?: true;
  /** Visitors without a session are not redirected to sign in: another router has a page for them at this address. */
  alsoSignedOut?: true;
  /** A form sent twice has its effect once: for forms that create something. */
  once?: true;
  /** Server-sent events instead of a page, requested by a page's script. Without a session it answers 401. */
  events?: true;
};

type ConsoleLine = `${"GET" | "POST"} /${string}`;

/** One page or form of the console. */
export type ConsoleRoute = {
  method: "GET" | "POST";
  path: string;
  options: ConsoleRouteOptions;
  handler: (context: PageContext) => Promise<ConsoleAnswer>;
};

const consoleRoute = (
  line: ConsoleLine,
  options: ConsoleRouteOptions,
  handler: ConsoleRoute["handler"],
): ConsoleRoute => {
  const [method, path] = line.split(" ") as ["GET" | "POST", string];
  return { method, path, options, handler };
};

/** Declares a page; viewing it changes nothing. */
export const consolePage = (
  line: `GET /${string}`,
  handler: ConsoleRoute["handler"],
  options: ConsoleRouteOptions = {},
): ConsoleRoute => consoleRoute(line, options, handler);

/** Declares a form. Before its handler is called, the form token is checked. */
export const consoleForm = (
  line: `POST /${string}`,
  handler: ConsoleRoute["handler"],
  options: ConsoleRouteOptions = {},
): ConsoleRoute => consoleRoute(line, options, handler);

export const shown = (page: ConsolePage): ConsoleAnswer => ({ kind: "page", page });

/** Redirects after a form to the page at `path`, which shows the notice once. */
export const seeOther = (path: string, notice?: Notice): ConsoleAnswer => ({ kind: "elsewhere", path, notice });

/** Answers a file, or anything else that is not a page. */
export const download = (reply: Reply): ConsoleAnswer => ({ kind: "reply", reply });
