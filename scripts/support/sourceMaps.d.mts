export function nameSources(): void;
