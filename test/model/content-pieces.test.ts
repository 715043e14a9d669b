import { describe, expect, it } from 'vitest';
import { contentPiece, type SdkPiece } from '../../src/vocabulary/sdk-messages.ts';

describe('T-6: pieces of a result, in the forms of all releases of the SDK', () => {
  const providerOptions = { openai: { imageDetail: 'low' } };
  const url = 'https://a.example/b.png';
  const data = { type: 'data', data: 'AQID' };
  const png = 'image/png';
  it.each<[string, object, object]>([
    ['a text', { type: 'text', text: 'a' }, { type: 'text', text: 'a' }],
    ['its options', { type: 'text', text: 'a', providerOptions }, { type: 'text', text: 'a', providerOptions }],
    ['a file', { type: 'file', mediaType: png, data }, { type: 'file', mediaType: png, data }],
    [
      'a file of bytes, with a name and options',
      {
        type: 'file',
        mediaType: png,
        data: { type: 'data', data: new Uint8Array([1, 2, 3]) },
        filename: 'a.png',
        providerOptions,
      },
      { type: 'file', mediaType: png, data, filename: 'a.png', providerOptions },
    ],
    [
      'a file of a buffer',
      { type: 'file', mediaType: png, data: { type: 'data', data: new Uint8Array([1, 2, 3]).buffer } },
      { type: 'file', mediaType: png, data },
    ],
    [
      'a file at a URL',
      { type: 'file', mediaType: png, data: { type: 'url', url: new URL(url) }, filename: 'b.png' },
      { type: 'file', mediaType: png, data: { type: 'url', url }, filename: 'b.png' },
    ],
    [
      'a file of text',
      { type: 'file', mediaType: 'text/plain', data: { type: 'text', text: 'a' }, filename: 'a.txt' },
      { type: 'text', text: 'a' },
    ],
    [
      'a file that a provider stores',
      { type: 'file', mediaType: png, data: { type: 'reference', reference: { openai: 'f1' } } },
      {
        type: 'text',
        text: '[file that only its provider can read: {"type":"reference","reference":{"openai":"f1"}}]',
      },
    ],
    ['file-data', { type: 'file-data', mediaType: png, data: 'AQID' }, { type: 'file', mediaType: png, data }],
    [
      'file-data with a name',
      { type: 'file-data', mediaType: png, data: 'AQID', filename: 'a.png' },
      { type: 'file', mediaType: png, data, filename: 'a.png' },
    ],
    ['image-data', { type: 'image-data', mediaType: png, data: 'AQID' }, { type: 'file', mediaType: png, data }],
    [
      'file-url',
      { type: 'file-url', mediaType: png, url, providerOptions },
      { type: 'file', mediaType: png, data: { type: 'url', url }, providerOptions },
    ],
    [
      'file-url without a type',
      { type: 'file-url', url },
      { type: 'file', mediaType: '*/*', data: { type: 'url', url } },
    ],
    ['image-url', { type: 'image-url', url }, { type: 'file', mediaType: 'image/*', data: { type: 'url', url } }],
    [
      'an invalid URL',
      { type: 'image-url', url: 'b.png' },
      { type: 'text', text: '[image/* at an invalid URL: b.png]' },
    ],
    ['another piece', { type: 'file-id', fileId: 'f1' }, { type: 'text', text: '[unsupported content: file-id]' }],
  ])('%s', (_, piece, part) => expect(contentPiece(piece as SdkPiece)).toEqual(part));
});
