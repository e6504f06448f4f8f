import { getDomain, parse } from "tldts";
import { targetKey, withoutTargets } from "#src/html/compare/targets.ts";
import { elementsIn, targetOf, wordsIn } from "#src/html/letter/readLetter.ts";
import { visible, visibleLine } from "#src/html/visible.ts";
import type { DraftLetter } from "../letter.ts";

/**
 * A link in the letter. `text`: what readers see in its place; null if they see the target itself. `names`: the host that the text names,
 * or that the target pretends to have, if the link leads to another one; else null.
 */
export type Link = { target: string; text: string | null; host: string; names: string | null };

/** Cache by letter, which is the same object when its page is opened again (letter.ts). */
const known = new WeakMap<DraftLetter, Link[]>();

/** Lists every link of a letter, misleading ones first; each pair of text and target once. */
export function linksOf(letter: DraftLetter): Link[] {
  const links = known.get(letter) ?? linksIn(letter);
  known.set(letter, links);
  return links;
}

function linksIn({ html, text }: DraftLetter): Link[] {
  const formatted = elementsIn(html?.pieces ?? [], "a").map(
    (link): FoundLink => ({ target: targetOf(link), shown: wordsIn(link.pieces) }),
  );
  const known = new Set(formatted.flatMap(({ target, shown }) => [targetKey(target), targetKey(shown)]));
  const inText = withoutTargets(visible(text), known).keys.filter((key) => !known.has(key));
  const links = [...formatted, ...inText.map((key) => ({ target: key, shown: "" }))].map(linkOf);
  const unique = new Map(links.map((link) => [JSON.stringify([link.target, link.text]), link]));
  return [...unique.values()].sort((a, b) => Number(b.names !== null) - Number(a.names !== null));
}

type FoundLink = { target: string; shown: string };

function linkOf({ target, shown }: FoundLink): Link {
  const text = visibleLine(shown);
  const host = hostOf(target);
  const named = pretendedHost(target) ?? hostNamedIn(text);
  const isOther = named !== null && host !== "" && !isSameSite(named, host);
  const isOwn = text === "" || targetKey(text) === targetKey(target);
  return {
    target: visibleLine(target),
    text: isOwn ? null : text,
    host: visibleLine(host),
    names: isOther ? visibleLine(named) : null,
  };
}

/** Returns "" for a telephone number and for an invalid target. */
function hostOf(target: string): string {
  const address = /^mailto:([^?]*)/i.exec(target.trim())?.[1];
  if (address !== undefined) return foldedHost(address.slice(address.lastIndexOf("@") + 1));
  if (/^tel:/i.test(target.trim())) return "";
  return foldedHost(urlOf(target)?.hostname ?? "");
}

/** A target from plain text has lost its scheme: what precedes its first colon can be a host, with a port or a password after it. */
const urlOf = (target: string): URL | undefined => {
  const whole = /^https?:/i.test(target.trim()) ? target.trim() : `https://${target.trim()}`;
  return URL.canParse(whole) ? new URL(whole) : undefined;
};

/** Finds the apparent host of `https://bank.example@evil.example/`, which leads to evil.example. */
function pretendedHost(target: string): string | null {
  const username = /^mailto:/i.test(target.trim()) ? "" : (urlOf(target)?.username ?? "");
  return hostNamedIn(username.replace(/%2e/gi, "."));
}

/** Returns the first web address, mail address or host that a text names. `node.js` is none: no top-level domain is called `js`. */
function hostNamedIn(text: string): string | null {
  const named = /(https?:\/\/|@|\bwww\.)?((?:[\p{L}\p{N}][\p{L}\p{N}-]{0,62}\.){1,8}\p{L}[\p{L}\p{N}-]{1,62})/giu;
  for (const [, sign, name = ""] of text.matchAll(named)) {
    const host = foldedHost(name);
    if (sign !== undefined || parse(host).isIcann) return host;
  }
  return null;
}

/** Lower case, with letters beyond ASCII in DNS form, so that two spellings of a host are equal. */
const foldedHost = (host: string): string =>
  host !== "" && URL.canParse(`http://${host}/`) ? new URL(`http://${host}/`).hostname : host.toLowerCase();

/** `www.bank.example` and `bank.example` belong to one owner; two customers of a hosting company do not. */
const isSameSite = (a: string, b: string): boolean => a === b || siteOf(a) === siteOf(b);

const siteOf = (host: string): string => getDomain(host, { allowPrivateDomains: true }) ?? host;
