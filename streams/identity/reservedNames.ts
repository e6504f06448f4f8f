/**
 * Names that speak for a whole domain or for the service: standards and certificate authorities send to them, and people trust them. On a domain that
 * all workspaces share they belong to its operator.
 */
export const reservedLocalParts: readonly string[] = [
  ...["postmaster", "abuse", "admin", "administrator", "hostmaster", "webmaster", "mailer-daemon", "root", "security"],
  ...["noc", "ssladmin", "ssladministrator", "sslwebmaster", "sysadmin", "is", "it", "mis", "info-ssl"],
  ...["bounces", "billing", "info", "noreply", "donotreply"],
];

/** Words of the mail that the service itself sends: reserved on that domain wherever they are part of a name. */
export const reservedWords: readonly string[] = ["countersign", "approval", "approver"];

/** Digits, signs and letters of other alphabets that look like a Latin letter, by that letter; `l` stands for `i` too. Local parts have no other alphabet. */
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

/** A name as it looks: in small Latin letters and digits, without accents, separators and invisible characters. */
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

/** True if a local part is, or looks like, one of these, also with a tag (`abuse+x` gets the mail of `abuse`). */
export function isReservedLocalPart(localPart: string): boolean {
  const [name = ""] = localPart.split("+");
  if (looksOfReserved.has(looksLike(name))) return true;
  const whole = looksLike(localPart);
  return looksOfWords.some((word) => whole.includes(word));
}

/** True if a display name has, or looks as if it had, the name of the service, from which approvers expect their mail. */
export const namesTheService = (displayName: string): boolean => looksLike(displayName).includes(looksOfService);
