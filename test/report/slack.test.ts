import { describe, expect, it } from 'vitest';
import { slackFormat } from '../../src/report/slack.ts';
import { compileForeign } from '../../src/schema/foreign-schema.ts';

const yes = (content: unknown) => ({ valid: true, content });
const unfit = (reasons: string) => ({ valid: false, slug: 'final_report_schema_fail', reasons });
const section = { type: 'section', text: { type: 'mrkdwn', text: 'a' } };
const slack = (...blocks: object[]) => ({ messages: [{ blocks }] });

describe('F-1: blocks of Slack', () => {
  const plain = (text: string) => ({ type: 'plain_text', text });
  const image = { type: 'image', image_url: 'https://a.example/b.png', alt_text: 'b' };
  const element = { type: 'button' };
  it.each<[string, object]>([
    ['a section with fields', { type: 'section', fields: [plain('a')] }],
    ['a field with emoji', { type: 'section', text: { ...plain('a'), emoji: true } }],
    ['a header', { type: 'header', text: plain('a'.repeat(150)) }],
    ['a divider', { type: 'divider', block_id: 'd' }],
    ['a context', { type: 'context', elements: [plain('a'), image] }],
    ['an image', image],
    ['an image of Slack', { type: 'image', slack_file: { id: 'F1' }, alt_text: '' }],
    ['markdown', { type: 'markdown', text: 'a'.repeat(12_000) }],
    ['rich text', { type: 'rich_text', elements: [{ type: 'rich_text_section', elements: [] }] }],
    ['actions', { type: 'actions', elements: Array(25).fill(element) }],
    ['a table', { type: 'table', rows: [[{ type: 'raw_text', text: 'a' }]] }],
  ])('%s is accepted as it is', async (_, block) => {
    expect(await slackFormat.validate(slack(block))).toEqual(yes(slack(block)));
  });

  it.each<[string, object, string]>([
    ['a section without text', { type: 'section' }, 'messages.0.blocks.0: a section needs text or fields'],
    [
      'a section with a long text',
      { type: 'section', text: plain('a'.repeat(3_001)) },
      'messages.0.blocks.0.text.text: ',
    ],
    ['a section with an empty text', { type: 'section', text: plain('') }, 'messages.0.blocks.0.text.text: '],
    [
      'a section with an empty mrkdwn',
      { type: 'section', text: { type: 'mrkdwn', text: '' } },
      'messages.0.blocks.0.text.text: ',
    ],
    [
      'a section with a long mrkdwn',
      { type: 'section', text: { type: 'mrkdwn', text: 'a'.repeat(3_001) } },
      'messages.0.blocks.0.text.text: ',
    ],
    ['a section without fields', { type: 'section', fields: [] }, 'messages.0.blocks.0.fields: '],
    [
      'a section with 11 fields',
      { type: 'section', fields: Array(11).fill(plain('a')) },
      'messages.0.blocks.0.fields: ',
    ],
    ['a long header', { type: 'header', text: plain('a'.repeat(151)) }, 'messages.0.blocks.0.text.text: '],
    ['an empty header', { type: 'header', text: plain('') }, 'messages.0.blocks.0.text.text: '],
    ['a header in mrkdwn', { type: 'header', text: { type: 'mrkdwn', text: 'a' } }, 'messages.0.blocks.0.text.type: '],
    ['a context of nothing', { type: 'context', elements: [] }, 'messages.0.blocks.0.elements: '],
    ['a context of 11', { type: 'context', elements: Array(11).fill(plain('a')) }, 'messages.0.blocks.0.elements: '],
    [
      'an image without a source',
      { type: 'image', alt_text: 'b' },
      'messages.0.blocks.0: an image needs image_url or slack_file',
    ],
    ['an image at no URL', { ...image, image_url: 'b.png' }, 'messages.0.blocks.0.image_url: '],
    ['an image without words', { type: 'image', image_url: image.image_url }, 'messages.0.blocks.0.alt_text: '],
    ['an image with many words', { ...image, alt_text: 'a'.repeat(2_001) }, 'messages.0.blocks.0.alt_text: '],
    [
      'an image with a long URL',
      { ...image, image_url: `https://a.example/${'a'.repeat(3_000)}` },
      'messages.0.blocks.0.image_url: ',
    ],
    ['empty markdown', { type: 'markdown', text: '' }, 'messages.0.blocks.0.text: '],
    ['long markdown', { type: 'markdown', text: 'a'.repeat(12_001) }, 'messages.0.blocks.0.text: '],
    ['rich text of nothing', { type: 'rich_text', elements: [] }, 'messages.0.blocks.0.elements: '],
    [
      'rich text of elements without a type',
      { type: 'rich_text', elements: [{}] },
      'messages.0.blocks.0.elements.0.type: ',
    ],
    ['actions of nothing', { type: 'actions', elements: [] }, 'messages.0.blocks.0.elements: '],
    [
      'actions of elements without a type',
      { type: 'actions', elements: [{}] },
      'messages.0.blocks.0.elements.0.type: ',
    ],
    ['26 actions', { type: 'actions', elements: Array(26).fill(element) }, 'messages.0.blocks.0.elements: '],
    ['a table without rows', { type: 'table', rows: [] }, 'messages.0.blocks.0.rows: '],
    ['a table of 101 rows', { type: 'table', rows: Array(101).fill([]) }, 'messages.0.blocks.0.rows: '],
    ['a cell without a type', { type: 'table', rows: [[{}]] }, 'messages.0.blocks.0.rows.0.0.type: '],
    ['an unknown block', { type: 'carousel' }, 'messages.0.blocks.0.type: '],
  ])('%s is refused', async (_, block, reason) => {
    expect(await slackFormat.validate(slack(block))).toEqual(unfit(expect.stringContaining(reason)));
  });

  it('a message has 1 to 50 blocks, and at most 20 reasons are given', async () => {
    const reasonsFor = async (message: object) => {
      const verdict = await slackFormat.validate({ messages: [message] });
      return verdict.valid ? '' : verdict.reasons;
    };
    expect(await reasonsFor({ blocks: [] })).toContain('messages.0.blocks: ');
    expect(await reasonsFor({ text: 5, blocks: [section] })).toContain('messages.0.text: ');
    expect(await reasonsFor({ text: 'a', blocks: Array(50).fill(section) })).toBe('');
    expect(await reasonsFor({ blocks: Array(51).fill(section) })).toContain('messages.0.blocks: ');
    expect((await reasonsFor({ blocks: Array(30).fill({ type: 'section' }) })).split('; ')).toHaveLength(20);
  });
});

it('F-1: the model is told the shape of messages', async () => {
  const schema = compileForeign(await slackFormat.contentSchema);
  const valid = async (content: unknown) => (await schema.validate(content)).valid;
  const blocks = [{ type: 'divider' }];
  expect(await valid({ messages: [{ blocks }, { text: 'a', blocks: Array(50).fill(blocks[0]) }] })).toBe(true);
  for (const messages of [5, [], [5], [{}], [{ blocks: 5 }], [{ blocks: [] }], [{ blocks: Array(51).fill(blocks[0]) }]])
    expect(await valid({ messages }), JSON.stringify(messages)).toBe(false);
  for (const content of [5, {}, { messages: [{ text: 5, blocks }] }, { messages: [{ blocks: [5] }] }])
    expect(await valid(content), JSON.stringify(content)).toBe(false);
  for (const block of [{}, { type: 5 }]) expect(await valid(slack(block))).toBe(false);
  expect([slackFormat.name, slackFormat.description]).toEqual(['slack', expect.stringContaining('Block Kit')]);
});
