/** Shows a secret as `****` and its last 4 characters; none of them if it is that short. */
export const mask = (secret: string): string => `****${secret.length > 4 ? secret.slice(-4) : ""}`;

/** True if a submitted value is the masked form of the stored secret, which then stays. */
export const isMaskOf = (value: string, secret: string): boolean => value === mask(secret);
