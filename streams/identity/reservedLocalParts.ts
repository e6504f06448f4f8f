/**
 * Names that speak for a whole domain: standards and certificate authorities send to them, and people trust them. On a domain that all workspaces
 * share they belong to its operator.
 */
export const reservedLocalParts: readonly string[] = [
  ...["postmaster", "abuse", "admin", "administrator", "hostmaster", "webmaster", "mailer-daemon", "root", "security"],
  ...["noc", "ssladmin", "ssladministrator", "sslwebmaster", "sysadmin", "is", "it", "mis", "info-ssl"],
  ...["approvals", "bounces"],
];

/** Whether a local part is one of these, also with a tag (`abuse+x` gets the mail of `abuse`), with dots, or in letters that look the same. */
export const isReservedLocalPart = (localPart: string): boolean => {
  const [name = ""] = localPart.normalize("NFKC").toLowerCase().split("+");
  return reservedLocalParts.includes(name.replaceAll(".", ""));
};
