/** How a secret is shown: `****` and its last 4 characters; of one that short, nothing. */
export const mask = (secret: string): string => `****${secret.length > 4 ? secret.slice(-4) : ""}`;

/** Whether a value sent back is the shown form of the stored one, which keeps the stored one. */
export const isMaskOf = (value: string, secret: string): boolean => value === mask(secret);
