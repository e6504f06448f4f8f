/**
 * Names that stand for a whole domain or for the service: standards and certificate authorities send to them, and people trust them. On a
 * domain that all workspaces share they belong to its operator.
 */
export const reservedLocalParts: readonly string[] = [
  ...["postmaster", "abuse", "admin", "administrator", "hostmaster", "webmaster", "mailer-daemon", "root", "security"],
  ...["noc", "ssladmin", "ssladministrator", "sslwebmaster", "sysadmin", "is", "it", "mis", "info-ssl"],
  ...["bounces", "billing", "info", "noreply", "donotreply"],
];

/** Words of the service's own mail: reserved on that domain anywhere in a name. */
export const reservedWords: readonly string[] = ["countersign", "approval", "approver"];

/**
 * Digits, signs and letters of other alphabets that resemble a Latin letter, by that letter; `l` also covers `i`. Local parts have no other
 * alphabet.
 */
const lookAlikes: Readonly<Record<string, string>> = {
  a: "4@",
  b: "8",
  c: "сςᴄⲥꮯꓚ",
  e: "3еҽєεᴇⲉꭼꓰ",
  g: "9ɡցɢԍꮐꓖ",
  l: "i1|!іιıɩɪӏłⲓꭵꮖꓲ",
  n: "пոηνɴռⲛꓠ",
  o: "0оοօᴏⲟøσꓳ",
  r: "гᴦʀⲅꭱꓣ",
  s: "5$ѕꜱƽꮪꓢ",
  t: "7тτᴛⲧꭲꓔ",
  u: "υսᴜцꓴ",
};
const letterOf = new Map(
  Object.entries(lookAlikes).flatMap(([letter, others]) => [...others].map((other) => [other, letter] as const)),
);

/** Reduces a name to its appearance: lower-case Latin letters and digits, without accents, separators and invisible characters. */
function looksLike(name: string): string {
  const plain = name.toLowerCase().normalize("NFKD").toLowerCase();
  return [...plain]
    .map((character) => letterOf.get(character) ?? character)
    .join("")
    .replace(/[^\p{L}\p{N}]/gu, "")
    .replaceAll("rn", "m")
    .replaceAll("vv", "w");
}

const looksOfReserved = new Set(reservedLocalParts.map(looksLike));
const looksOfWords = reservedWords.map(looksLike);
const looksOfService = looksLike("countersign");

/** True if a local part is, or resembles, one of these, also with a tag (`abuse+x` gets the mail of `abuse`). */
export function isReservedLocalPart(localPart: string): boolean {
  const [name = ""] = localPart.split("+");
  if (looksOfReserved.has(looksLike(name))) return true;
  const whole = looksLike(localPart);
  return looksOfWords.some((word) => whole.includes(word));
}

/** True if a display name contains, or seems to contain, the service's name, from which approvers expect mail. */
export const resemblesServiceName = (displayName: string): boolean => looksLike(displayName).includes(looksOfService);
