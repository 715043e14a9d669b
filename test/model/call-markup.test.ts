import { describe, expect, it } from 'vitest';
import { isCallMarkup } from '../../src/model/reply/call-markup.ts';

const bar = '\uFF5C';
const json = '{"name": "look", "arguments": {"key": "a"}}';

describe('F-4c: a text that is or ends in the markup of a call', () => {
  it.each([
    ['Qwen, Hermes', `<tool_call>\n${json}\n</tool_call>`],
    ['Qwen, not closed', `I look.\n<tool_call>\n${json}`],
    ['Qwen, an opening alone', 'I look.\n<tool_call>'],
    ['Qwen Coder', 'I need to look.\n<function=look>\n<parameter=key>\na\n</parameter>\n</function>\n</tool_call>'],
    ['Qwen Coder, without its frame', '<function=look>\n<parameter=key>\na\n</parameter>\n</function>'],
    ['Qwen Coder, cut off', '<function=look>\n<parameter=key>\na\n</parameter>'],
    ['GLM', '<tool_call>look\n<arg_key>key</arg_key>\n<arg_value>a</arg_value>\n</tool_call>'],
    ['GLM, not closed', '<tool_call>look\n<arg_key>key</arg_key>\n<arg_value>a</arg_value>'],
    ['DeepSeek', `<${bar}tool▁calls▁begin${bar}><${bar}tool▁call▁begin${bar}>look\n${json}<${bar}tool▁call▁end${bar}>`],
    [
      'DeepSeek DSML',
      `<${bar}DSML${bar}function_calls>\n<${bar}DSML${bar}invoke name="look">\n</${bar}DSML${bar}invoke>\n</${bar}DSML${bar}function_calls>`,
    ],
    ['DSML with plain bars', '<|DSML|invoke name="look"></|DSML|invoke>'],
    ['closers alone', `The keys match.\n\n</${bar}DSML${bar}parameter>\n</${bar}DSML${bar}invoke>`],
    ['a closer alone', 'The keys match.\n</tool_call>'],
    [
      'Kimi',
      '<|tool_calls_section_begin|><|tool_call_begin|>functions.look:0<|tool_call_argument_begin|>{"key":"a"}<|tool_call_end|>',
    ],
    ['Kimi, cut off', '<|tool_call_begin|>functions.look:0<|tool_call_argument_begin|>{"key":"a"}'],
    ['Mistral', `[TOOL_CALLS][${json}]`],
    ['Mistral, newer', '[TOOL_CALLS]look[ARGS]{"key": "a"}'],
    ['LM Studio', `[TOOL_REQUEST]${json}[END_TOOL_REQUEST]`],
    ['Llama', '<|python_tag|>look.call(key="a")'],
    [
      'Claude',
      '<function_calls>\n<invoke name="look">\n<parameter name="key">a</parameter>\n</invoke>\n</function_calls>',
    ],
    ['Claude, cut off', '<invoke name="look">\n<parameter name="key">a</parameter>'],
    ['bare JSON', json],
    ['bare JSON of the report', '{"name": "final_report", "parameters": {"content": "Done."}}'],
    [
      'bare JSON as OpenAI writes calls',
      `{"tool_calls": [{"type": "function", "function": {"name": "look", "arguments": "{}"}}]}`,
    ],
    ['bare JSON in a list', `[${json}]`],
    ['bare JSON with other names', '{"tool": "look", "input": {}}'],
    ['bare JSON in a fence', `\`\`\`json\n${json}\n\`\`\``],
    ['bare JSON after prose', `I will look.\n\n${json}`],
    ['bare JSON in a fence after prose', `I will look:\n\`\`\`\n${json}\n\`\`\``],
    ['bare JSON after other JSON', `{\n  "a": 1\n}\n${json}`],
  ])('%s', (_name, text) => expect(isCallMarkup(text, ['look', 'final_report'])).toBe(true));

  it.each([
    ['prose', 'The key is J-12.'],
    ['nothing', ''],
    ['prose about the markup', 'Models of Qwen write <tool_call> and </tool_call> round a call, as you can see.'],
    ['the markup in a fence', 'It prints:\n```xml\n<tool_call>\n{"name": "look", "arguments": {}}\n</tool_call>\n```'],
    ['the markup in a code span', 'Look for `</tool_call>`'],
    ['other markup', '<project>\n<parameter>a</parameter>\n<function>b</function>\n</project>'],
    ['a closer of other markup', '<launch><parameter name="a">1</parameter>'],
    ['JSON that is no call', '{"name": "look", "size": 3}'],
    ['JSON of another tool', '{"name": "other", "arguments": {}}'],
    ['JSON of a person', '{"name": "Ada", "input": "x"}'],
    ['a list', '- a\n- [b]'],
    ['null and numbers', '[null, 1]'],
    ['broken JSON', '{"name": "look", "arguments": {'],
    ['a mark in prose before a list', 'Use [TOOL_CALLS] first, then:\n- [x] done'],
  ])('not %s', (_name, text) => expect(isCallMarkup(text, ['look', 'final_report'])).toBe(false));

  it('is found in time linear in the text', () => {
    const tools = ['look'];
    for (const piece of ['<', '<tool_call', '[', '\n', '{"a":', '```\n', '<function=', '</']) {
      expect(isCallMarkup(piece.repeat(300_000), tools)).toBe(false);
    }
  });
});
