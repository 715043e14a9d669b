import { expect, it } from 'vitest';
import { shownUrl } from '../../src/http/http-policy.ts';

it.each([
  ['https://ada:secret@example.com:8443/a/b?key=secret#c', 'https://example.com:8443/a/b'],
  ['file:///etc/passwd', 'file:///etc/passwd'],
  ['blob:http://localhost:3000/abc?key=secret', 'blob:http://localhost:3000/abc'],
  ['mailto:ada@example.com?subject=secret', 'mailto:ada@example.com'],
])('S-5: an address is shown without its query and its credentials: %s', (address, shown) => {
  expect(shownUrl(new URL(address))).toBe(shown);
});
