type Policy = { createHTML(text: string): string; createScriptURL(url: string): string };
type Factory = { createPolicy(name: string, rules: Policy): Policy };

/**
 * The page's own drawings and worker, the only texts that become markup or code: the security policy lets through what
 * this makes, and nothing else.
 */
const own: Policy = { createHTML: (text) => text, createScriptURL: (url) => url };
const { trustedTypes } = globalThis as { trustedTypes?: Factory };
const policy = trustedTypes?.createPolicy('pawl', own) ?? own;

export const trusted = (markup: string) => policy.createHTML(markup);
export const trustedUrl = (url: string) => policy.createScriptURL(url);
