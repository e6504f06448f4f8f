import { normalised } from "#src/platform/accounts/passwords.ts";
import { invalidRequest } from "#streams/decider.ts";

const [shortest, longest] = [12, 256];

/** Minimum weight of the characters that remain after common words, runs and repetitions are removed. A letter counts 1, a digit ½. */
const leastOwn = 4;

/**
 * Checks a password before it is hashed. `field`: name of the request's field. `email`: the user's address. Throws Rejected invalid_request
 * with the reason, which never contains the password.
 */
export function requireGoodPassword(
  password: string,
  { email, field = "password" }: { email: string; field?: string },
) {
  // Normalising can turn one character into eighteen, so reject far too long passwords without normalising them.
  const length = password.length > 4 * longest ? Number.POSITIVE_INFINITY : [...normalised(password)].length;
  if (length < shortest || length > longest)
    throw invalidRequest(field, `expected ${shortest} to ${longest} characters, so that the password is hard to guess`);
  const text = normalised(password).toLowerCase();
  if (own(text, []) < leastOwn) {
    throw invalidRequest(field, "this password is easy to guess: choose a longer one of several unrelated words");
  }
  if (own(text, partsOf(email)) < leastOwn) {
    throw invalidRequest(field, "this password is made of your email address: choose another");
  }
}

/**
 * Returns the weight of a text without known words, runs and repetitions. Computes it for the text as written and for the text with digits
 * replaced by letters, and returns the lower weight.
 */
const own = (text: string, known: readonly string[]): number =>
  Math.min(...[text, withLetters(text)].map((written) => weightOf(withoutKnown(written, known))));

const withoutKnown = (text: string, known: readonly string[]): string =>
  onceOnly(withoutRuns([...known, ...common].reduce((left, word) => left.replaceAll(word, " "), text)));

/** Removes repetition: "a1b2a1b2a1b2" is no stronger than "a1b2". */
const onceOnly = (text: string): string => text.replace(/(.{1,8}?)\1{2,}/gu, "$1");

/** Removes runs of four or more neighbours in the alphabet, the digits or on a keyboard, forwards or backwards. */
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

/** Common words, longer ones before those they contain. None is specific to the users of this service. */
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

/** Replaces digits and signs by the letters that they resemble. */
const withLetters = (text: string): string => text.replace(/[0134579@$!|]/g, (sign) => letterOf[sign]!);

const letterOf: Record<string, string> = {
  ...{ "0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "7": "t", "9": "g" },
  ...{ "@": "a", $: "s", "!": "i", "|": "l" },
};

const weightOf = (text: string): number =>
  (text.match(/\p{L}/gu)?.length ?? 0) + (text.match(/[^\p{L}\p{P}\p{S}\p{Z}]/gu)?.length ?? 0) / 2;

/** Returns the words of an address, longer ones first. */
const partsOf = (email: string): string[] =>
  [
    ...new Set(
      email
        .toLowerCase()
        .split(/[^\p{L}\p{N}]+/u)
        .filter((part) => part.length >= 3),
    ),
  ].sort((one, other) => other.length - one.length);
