import { canonicalAddress } from "#streams/emailAddress/addrSpec.ts";

/** Matches a command up to the address, a quoted local part, and the rest. */
const quotedCommand = /^([^<"]*<(?:@[^:"]*:)?)("(?:[^"\\]|\\.){1,200}")(@.*)$/s;
const standIn = "quoted";

type ParsedAddress = { address: string };
type Parse = (name: string, command: Buffer | string) => ParsedAddress | false;

/**
 * Lets MAIL and RCPT name addresses with a quoted local part. The library's parser ends the address at a blank and refuses a second at
 * sign, and has no option for it, so it is given the command with a plain word in place of the quotes. The parsed address is the
 * canonical one; a command whose address has none is refused.
 */
export function acceptQuotedAddresses(connection: object): void {
  const parser = connection as { _parseAddressCommand: Parse };
  const parse = parser._parseAddressCommand.bind(connection);
  parser._parseAddressCommand = (name, command) => {
    const [, before, quoted, rest] = quotedCommand.exec(command.toString()) ?? [];
    if (quoted === undefined) return parse(name, command);
    const parsed = parse(name, `${before}${standIn}${rest}`);
    const address = parsed ? canonicalAddress(quoted + parsed.address.slice(standIn.length)) : null;
    return parsed && address !== null && { ...parsed, address };
  };
}
