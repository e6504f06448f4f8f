import { normalised } from "#src/platform/accounts/passwords.ts";
import { invalid } from "#streams/decider.ts";

const [shortest, longest] = [12, 256];

/** Letters beside what anybody would try first; a digit counts half. */
const leastOwn = 4;

/**
 * Judges a password before it is hashed. `field`: under which name it was given. `email`: whose it will be. Throws Rejected invalid_request with
 * the reason, and never repeats the password.
 */
export function requireGoodPassword(
  password: string,
  { email, field = "password" }: { email: string; field?: string },
) {
  // One character can become eighteen: what is far too long is not looked at any closer.
  const length = password.length > 4 * longest ? Number.POSITIVE_INFINITY : [...normalised(password)].length;
  if (length < shortest || length > longest) throw invalid(field, `expected ${shortest} to ${longest} characters`);
  const text = normalised(password).toLowerCase();
  if (own(text, []) < leastOwn) {
    throw invalid(field, "this is among the first that anybody would try: choose a longer phrase of your own");
  }
  if (own(text, partsOf(email)) < leastOwn) {
    throw invalid(field, "it is made of your address: choose something that nobody can read there");
  }
}

/** How much of a text is the writer's own, once the known words, runs and repetitions are taken out; written with or without digits for letters. */
const own = (text: string, known: readonly string[]): number =>
  Math.min(...[text, withLetters(text)].map((written) => weightOf(withoutKnown(written, known))));

const withoutKnown = (text: string, known: readonly string[]): string =>
  onceOnly(withoutRuns([...known, ...common].reduce((left, word) => left.replaceAll(word, " "), text)));

/** "a1b2a1b2a1b2" says no more than "a1b2". */
const onceOnly = (text: string): string => text.replace(/(.{1,8}?)\1{2,}/gu, "$1");

/** Neighbours in the alphabet, among the digits or on a keyboard, forwards or backwards, four or more. */
function withoutRuns(text: string): string {
  const lines = rows.flatMap((row) => [row, [...row].reverse().join("")]);
  let left = "";
  for (let at = 0; at < text.length; ) {
    const run = Math.max(...lines.map((line) => runAt(text, { at, line })));
    if (run < 4) left += text[at];
    at += run < 4 ? 1 : run;
  }
  return left;
}

function runAt(text: string, { at, line }: { at: number; line: string }): number {
  const begin = line.indexOf(text[at]!);
  if (begin < 0) return 0;
  let length = 1;
  while (at + length < text.length && line[begin + length] === text[at + length]) length++;
  return length;
}

const rows = [
  "abcdefghijklmnopqrstuvwxyz",
  "01234567890",
  "qwertyuiop",
  "qwertzuiop",
  "asdfghjkl",
  "zxcvbnm",
  "yxcvbnm",
  "1qaz2wsx3edc4rfv5tgb6yhn",
];

/** Words, and nothing about the people who use this service in particular; longer ones first, where one holds another. */
const common = [
  ...[
    "countersign",
    "administrator",
    "iloveyou",
    "trustno",
    "football",
    "baseball",
    "superman",
    "princess",
    "sunshine",
  ],
  ...[
    "passwords",
    "password",
    "passwort",
    "passphrase",
    "kennwort",
    "contrasena",
    "motdepasse",
    "welcome",
    "willkommen",
  ],
  ...["letmein", "changeme", "default", "secret", "master", "monkey", "dragon", "shadow", "login", "admin", "hello"],
  ...[
    "qwerty",
    "qwertz",
    "azerty",
    "asdf",
    "test",
    "user",
    "guest",
    "root",
    "pass",
    "love",
    "spring",
    "summer",
    "autumn",
  ],
  ...["winter", "january", "february", "monday", "friday", "company", "office", "email", "mail"],
];

/** Digits and signs as people write letters with them. */
const withLetters = (text: string): string => text.replace(/[0134579@$!|]/g, (sign) => letterOf[sign]!);

const letterOf: Record<string, string> = {
  ...{ "0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "7": "t", "9": "g" },
  ...{ "@": "a", $: "s", "!": "i", "|": "l" },
};

const weightOf = (text: string): number =>
  (text.match(/\p{L}/gu)?.length ?? 0) + (text.match(/[^\p{L}\p{P}\p{S}\p{Z}]/gu)?.length ?? 0) / 2;

/** The words of an address, longer ones first. */
const partsOf = (email: string): string[] =>
  [
    ...new Set(
      email
        .toLowerCase()
        .split(/[^\p{L}\p{N}]+/u)
        .filter((part) => part.length >= 3),
    ),
  ].sort((one, other) => other.length - one.length);
