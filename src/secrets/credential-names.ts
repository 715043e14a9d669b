/** Words that mark a name as that of a credential; ambiguous ones only at the end of a name. */
const secretWord =
  /authorization|token(?!s$|i[sz])|secret|passw(?:or)?d|passphrase|passcode|(?<!by|com)pass$|pwd|credential|cookie|^(?:dsn|pat)$|(?<!mon|tur|don|hot)keys?$/;
const secretLastWord = /^(?:auth|sig|signature)$|tokens$/;
/** Before `key` or `tokens`, these words mean that the value is not a credential. */
const harmlessBefore =
  /^(?:cache|foreign|idempotency|partition|public|routing|sort|max|min|input|output|total|prompt)$/;

/** Whether this is the name of a credential: `apiKey`, `X-Auth-Token`, `DB_PASSWORD`; but not `promptCacheKey`. */
export function namesSecret(name: string): boolean {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((word) => word !== '' && word !== 'v');
  const isHarmless = (index: number) =>
    harmlessBefore.test(words[index - 1] ?? '') || (index === 1 && words[0] === 'primary');
  const isSecret = (word: string, index: number) =>
    (secretWord.test(word) || (index === words.length - 1 && secretLastWord.test(word))) &&
    !(/^(?:keys?|tokens)$/.test(word) && isHarmless(index));
  return words.some(isSecret);
}

/** Names of credentials in headers and in queries of URLs only. */
export const secretOnTheWay = /^(?:x-)?(?:session|session-?id|sid|code|k)$/i;
