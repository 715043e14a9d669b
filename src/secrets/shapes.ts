import { namesSecret } from './credential-names.ts';

export const removed = '[redacted]';

/**
 * A shape of secrets: what it is of, the pattern, and what stands in its place. The patterns follow the formats that the
 * providers document; to add one, add a row, and a sample to the table of `test/secrets/shapes.test.ts`.
 */
export type Shape = { of: string; pattern: RegExp; replacement: string | ((...match: string[]) => string) };

const whole = (of: string, pattern: RegExp): Shape => ({ of, pattern, replacement: removed });

/** What may follow the name of a secret: `=`, `:`, with quotes or without. */
const nameOfSecret =
  '(?<![\\w-])([\\w-]{0,40}?(?:passw(?:or)?d|passphrase|pwd|secret|token|credential|api[-_]?key|access[-_]?key|private[-_]?key|account[-_]?key)[\\w-]{0,20})';
const wholeName = new RegExp(`^${nameOfSecret}$`, 'i');
/** Values that are no secret: another name, a placeholder, a type. */
const noSecret =
  /^(?:[$<{*[%]|(?:undefined|null|none|true|false|string|number|boolean|unknown|required|optional|redacted)\b)/i;

/** Whether this is the name of a field or parameter that holds a secret: `apiToken`, `client_secret`, `DB_PASSWORD`. */
export function isSecretField(name: string): boolean {
  return wholeName.test(name) && namesSecret(name);
}

/** Replaces the value of a name that is one of a secret. */
const withoutValue = (isSecret: (value: string) => boolean) =>
  function replaced(...[match = '', name = '', between = '', value = '']: string[]): string {
    if (!namesSecret(name) || noSecret.test(value) || !isSecret(value)) return match;
    return `${name}${between}${removed}`;
  };
const isMixed = (value: string) => value.length >= 8 && /\d/.test(value) && /[a-z]/i.test(value);

/** The known shapes of secrets (S-5), in the order in which they are looked for. */
export const secretShapes: readonly Shape[] = [
  // Headers and parameters.
  {
    of: 'a bearer token',
    pattern: /\b(Bearer|bearer)\s+(?:[A-Za-z0-9._~+/=-]{16,}|(?=[^\s]*\d)[A-Za-z0-9._~+/=-]{6,})/g,
    replacement: `$1 ${removed}`,
  },
  {
    of: 'basic credentials',
    pattern: /\b(Basic)\s+(?=[^\s]*[\d=+/])[A-Za-z0-9+/=]{8,}/g,
    replacement: `$1 ${removed}`,
  },
  // Blocks and tokens with a structure.
  whole(
    'a private key',
    /-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|$)/gs,
  ),
  whole('a JSON web token', /\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}/g),
  // Cloud providers.
  whole('AWS', /\b(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}\b/g),
  whole('Google', /\bAIza[A-Za-z0-9_-]{20,}/g),
  whole('Google OAuth', /\b(?:ya29\.|GOCSPX-|1\/\/0)[\w-]{12,}/g),
  whole('Azure AD', /(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{31,34}/g),
  // Code hosts and registries.
  whole('GitHub', /\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,})/g),
  whole('GitLab', /\bgl(?:pat|dt|rt|ft|ptt|cbt|soat|agent|oas|imt|ffct)-[\w-]{16,}/g),
  whole('npm', /\bnpm_[A-Za-z0-9]{16,}/g),
  whole('PyPI', /\bpypi-[\w-]{16,}/g),
  // Chat, mail, telephony and payment.
  whole('Slack', /\bxox[abceoprs]-[\w-]{10,}|\bxapp-\d-[\w-]{10,}/g),
  whole('a Slack webhook', /\bhooks\.slack\.com\/(?:services|workflows)\/[\w/]{20,}/g),
  whole('SendGrid', /\bSG\.[\w-]{16,}\.[\w-]{16,}/g),
  whole('Twilio', /\bSK[0-9a-f]{32}\b/g),
  whole('a Stripe webhook', /\bwhsec_[A-Za-z0-9+/]{16,}/g),
  // Stripe, OpenAI, Anthropic, Groq, xAI, Hugging Face and others that begin so.
  whole(
    'a key of a model provider',
    /\b(?:sk|pk|rk|gsk|xai|hf|key)[-_](?:[A-Za-z0-9_*-]{16,}|(?=[A-Za-z0-9_*-]*[\d*])[A-Za-z0-9_*-]{8,})/g,
  ),
  // Addresses.
  { of: 'a password in a URL', pattern: /(\/\/[^\s/:@]*:)[^\s/@]+@/g, replacement: `$1${removed}@` },
  { of: 'a user in a URL', pattern: /(\/\/)[^\s/:@]{8,}@/g, replacement: `$1${removed}@` },
  {
    of: 'a parameter of a URL',
    pattern: /([?&](?:key|api[-_]?key|token|access[-_]?token|sig|signature|secret|password|auth)=)[^\s&#"']+/gi,
    replacement: `$1${removed}`,
  },
  // Whatever its scheme, the whole value of the header.
  {
    of: 'an authorization header',
    pattern: /\b((?:proxy-)?authorization)(["']?\s*[:=]\s*["']?)[^\r\n"',;)}]+/gi,
    replacement: `$1$2${removed}`,
  },
  {
    of: 'a key header',
    pattern: /\b(x-api-key|api[-_]?key|x-goog-api-key)(["']?\s*[:=]\s*["']?)[^\s"',;)}]+/gi,
    replacement: `$1$2${removed}`,
  },
  {
    of: 'a key that is quoted',
    pattern: /\b(api key(?: provided)?|access token)(:\s*)[^\s"',;)}]+/gi,
    replacement: `$1$2${removed}`,
  },
  // Fields and parameters that are named like a secret.
  {
    of: 'a quoted field',
    pattern: new RegExp(`${nameOfSecret}(["']?\\s*[:=]\\s*["'])([^"'\\s]{4,})`, 'gi'),
    replacement: withoutValue((value) => !/^[(){}[\]]/.test(value)),
  },
  {
    of: 'a parameter',
    pattern: new RegExp(`${nameOfSecret}(=)([^\\s"'&;,(){}]{6,})`, 'gi'),
    replacement: withoutValue(() => true),
  },
  {
    of: 'a field without quotes',
    pattern: new RegExp(`${nameOfSecret}(\\s*[:=]\\s+|:)([^\\s"'&;,(){}]{8,})`, 'gi'),
    replacement: withoutValue(isMixed),
  },
];
