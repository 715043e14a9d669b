import {
  APICallError,
  EmptyResponseBodyError,
  InvalidArgumentError,
  InvalidPromptError,
  JSONParseError,
  LoadAPIKeyError,
  LoadSettingError,
  NoSuchModelError,
  TypeValidationError,
  UnsupportedFunctionalityError,
} from '@ai-sdk/provider';
import { describe, expect, it } from 'vitest';
import type { FaultKind } from '../../machines/index.ts';
import { classifyFault, timeoutFault } from '../../src/model/faults.ts';

const call = (statusCode: number | undefined, body?: unknown, more: object = {}) =>
  new APICallError({
    message: 'refused',
    url: 'http://127.0.0.1/',
    requestBodyValues: {},
    ...(statusCode !== undefined && { statusCode }),
    ...(body !== undefined && { responseBody: typeof body === 'string' ? body : JSON.stringify(body) }),
    ...more,
  });
const coded = (code: string, message = 'failed') => Object.assign(new Error(message), { code });
const kindOf = (error: unknown) => classifyFault(error, 0).kind;

describe('P-1: the kind of a fault', () => {
  it.each<[number, FaultKind]>([
    [300, 'invalid_request'],
    [400, 'invalid_request'],
    [401, 'auth'],
    [402, 'quota'],
    [403, 'auth'],
    [404, 'invalid_request'],
    [408, 'timeout'],
    [409, 'server'],
    [413, 'invalid_request'],
    [422, 'invalid_request'],
    [425, 'server'],
    [429, 'rate_limited'],
    [499, 'invalid_request'],
    [500, 'server'],
    [502, 'server'],
    [503, 'server'],
    [504, 'timeout'],
    [529, 'server'],
  ])('status %i is %s', (status, kind) => {
    expect(kindOf(call(status))).toBe(kind);
    expect(classifyFault(call(status), 0).status).toBe(status);
    // Other clients name it `status`.
    expect(kindOf(Object.assign(new Error('refused'), { status }))).toBe(kind);
  });

  it.each<[string, number, unknown, FaultKind]>([
    ['an exhausted quota', 429, { error: { code: 'insufficient_quota' } }, 'quota'],
    ['credits that are used up', 403, { error: { type: 'insufficient_credits' } }, 'quota'],
    ['a billing limit', 400, { error: { code: 'billing_hard_limit_reached' } }, 'quota'],
    ['a code in upper case', 429, { error: { status: 'QUOTA_EXCEEDED' } }, 'quota'],
    ['a code outside of `error`', 400, { code: 'payment_required' }, 'quota'],
    ['a low balance', 400, { error: { message: 'Your credit balance is too low' } }, 'quota'],
    ['a rate limit that mentions the quota', 429, { error: { message: 'see insufficient_quota' } }, 'rate_limited'],
    ['a filter', 400, { error: { code: 'content_filter' } }, 'content_filter'],
    ['a policy', 400, { error: { code: 'content_policy_violation' } }, 'content_filter'],
    ['a filter by words alone', 400, 'ResponsibleAIPolicyViolation', 'content_filter'],
    [
      'words about a filter beside another code',
      400,
      { error: { code: 'invalid_value', message: 'content_filter must be a boolean' } },
      'invalid_request',
    ],
    ['a broken server that mentions billing', 500, { error: { code: 'billing_service_down' } }, 'server'],
    ['a broken server that mentions a filter', 503, { error: { code: 'content_filter' } }, 'server'],
    ['a code that is no text', 429, { error: { code: 17 } }, 'rate_limited'],
    ['another field that has a known word', 429, { error: { param: 'insufficient_quota' } }, 'rate_limited'],
    ['`error: null`', 400, { error: null, code: 'insufficient_quota' }, 'quota'],
    ['a body that is a text', 400, '"insufficient_quota"', 'invalid_request'],
    ['a body that is null', 400, 'null', 'invalid_request'],
    ['a body that is no JSON', 400, 'insufficient_quota', 'invalid_request'],
  ])('%s', (_, status, body, kind) => expect(kindOf(call(status, body))).toBe(kind));

  it.each<[string, FaultKind]>([
    ['insufficient_quota', 'quota'],
    ['content_filter', 'content_filter'],
    ['rate_limit_error', 'rate_limited'],
    ['too_many_requests', 'rate_limited'],
    ['RESOURCE_EXHAUSTED', 'rate_limited'],
    ['authentication_error', 'auth'],
    ['permission_error', 'auth'],
    ['PERMISSION_DENIED', 'auth'],
    ['invalid_api_key', 'auth'],
    ['unauthorized', 'auth'],
    ['UNAUTHENTICATED', 'auth'],
    ['overloaded_error', 'server'],
    ['server_error', 'server'],
    ['api_error', 'server'],
    ['internal_error', 'server'],
    ['service_unavailable', 'server'],
    ['timeout_error', 'timeout'],
    ['DEADLINE_EXCEEDED', 'timeout'],
    ['invalid_request_error', 'invalid_request'],
    ['INVALID_ARGUMENT', 'invalid_request'],
    ['failed_precondition', 'invalid_request'],
    ['not_found_error', 'invalid_request'],
    ['context_length_exceeded', 'context_length'],
    ['something_new', 'server'],
  ])('mid-stream, %s is %s', (type, kind) => {
    expect(kindOf({ type: 'error', error: { type, message: 'm' } })).toBe(kind);
    expect(kindOf({ code: type, message: 'm' })).toBe(kind);
    expect(kindOf(type)).toBe(kind);
    expect(kindOf(new Error('m', { cause: { error: { code: type } } }))).toBe(kind);
    expect(kindOf(call(200, { error: { type } }))).toBe(kind);
    expect(kindOf(call(undefined, { error: { type } }))).toBe(kind);
    expect(kindOf(call(200, { error: { message: type } }))).toBe(kind);
    expect(kindOf(call(200, { error: type }))).toBe(kind);
    expect(kindOf(call(200, { detail: type }))).toBe(kind);
  });

  it('a code counts before words, and words of our own errors do not count', () => {
    expect(kindOf({ error: { type: 'server_error', message: 'rate_limit' } })).toBe('server');
    expect(kindOf({ error: { message: 'rate_limit' } })).toBe('rate_limited');
    expect(kindOf(new Error('rate_limit'))).toBe('server');
    expect(kindOf(new Error('m', { cause: 'rate_limit' }))).toBe('server');
    expect(kindOf(new TypeValidationError({ value: 'rate_limit', cause: 'rate_limit' }))).toBe('server');
  });

  it.each<[unknown, FaultKind]>([
    [400, 'invalid_request'],
    [401, 'auth'],
    ['402', 'quota'],
    [404, 'invalid_request'],
    [429, 'rate_limited'],
    [503, 'server'],
    [504, 'timeout'],
    [599, 'server'],
    [600, 'server'],
    [399, 'server'],
    [40_100, 'server'],
  ])('a code %j of a gateway’s error in a stream is a status: %s', (code, kind) => {
    expect(kindOf({ error: { code, message: 'refused' } })).toBe(kind);
    expect(kindOf({ error: { code, type: 'BadRequestError', message: 'refused' } })).toBe(kind);
    expect(classifyFault({ error: { code, message: 'refused' } }, 0).status).toBeNull();
  });

  it('a name counts before such a code, and its words count as those of a response do', () => {
    expect(kindOf({ error: { code: 400, type: 'overloaded_error', message: 'refused' } })).toBe('server');
    expect(kindOf({ error: { code: 400, message: 'Your credit balance is too low' } })).toBe('quota');
  });

  it('words of the reply, or of the prompt that a body quotes, say nothing about the fault', () => {
    const text = '{"choices":[{"message":{"content":"401 unauthorized, insufficient_quota, socket closed';
    const cut = new JSONParseError({ text, cause: new SyntaxError(`Unterminated string: ${text}`) });
    const other = new TypeValidationError({ value: 'the socket was closed', cause: new Error('no choices: socket') });
    const unread = { cause: cut, message: 'Invalid JSON response' };
    for (const error of [
      call(200, text, unread),
      call(undefined, text, unread),
      cut,
      other,
      call(200, {}, { cause: other }),
    ])
      expect(kindOf(error)).toBe('server');
    expect(kindOf(call(200, { choices: [{ message: { content: 'not_found' } }], usage: 'not_found' }))).toBe('server');
    const quoted = { detail: [{ type: 'missing', input: 'content_filter, your credit balance is too low' }] };
    expect(kindOf(call(422, quoted))).toBe('invalid_request');
    expect(kindOf(call(429, { ...quoted, error: { message: 'Slow down.' } }))).toBe('rate_limited');
    expect(kindOf(call(422, { detail: 'content_filter' }))).toBe('content_filter');
  });

  const policy = { code: 'ResponsibleAIPolicyViolation' };
  const low = 'Your credit balance is too low';
  it.each<[string, unknown, FaultKind]>([
    ['Azure', { error: { code: null, innererror: policy } }, 'content_filter'],
    ['Azure, another version', { error: { code: '', message: 'no', inner_error: policy } }, 'content_filter'],
    ['a gateway', { error: { code: 400, metadata: { raw: '{"error":{"code":"content_filter"}}' } } }, 'content_filter'],
    ['a gateway, in words', { error: { code: 400, metadata: { raw: low } } }, 'quota'],
    ['Gemini', [{ error: { code: 400, status: 'QUOTA_EXCEEDED' } }], 'quota'],
    ['a list of errors', { errors: [{ code: 'content_filter' }, { code: 'insufficient_quota' }] }, 'content_filter'],
    ['an error in an error', { error: { error: { message: low } } }, 'quota'],
    ['a detail', { detail: { error: { code: 'content_policy_violation' } } }, 'content_filter'],
    ['a text as JSON', '"content_filter"', 'content_filter'],
    ['too many wrappers', [[[[[[{ code: 'content_filter' }]]]]]], 'invalid_request'],
    ['nothing', { error: {} }, 'invalid_request'],
    ['an empty list', [], 'invalid_request'],
    ['fields that are refused', { detail: [{ loc: ['body'], type: 'content_filter' }] }, 'invalid_request'],
  ])('the error of %s is found', (_, body, kind) => expect(kindOf(call(400, body))).toBe(kind));

  it('a connection that a gateway says was closed is a fault of the server', () => {
    expect(kindOf({ error: { code: 499, message: 'cancelled' } })).toBe('server');
  });

  it.each<[string, unknown, FaultKind]>([
    ['a missing key', new LoadAPIKeyError({ message: 'm' }), 'unavailable'],
    ['a missing setting', new LoadSettingError({ message: 'm' }), 'unavailable'],
    ['an unknown model', new NoSuchModelError({ modelId: 'm', modelType: 'languageModel' }), 'unavailable'],
    ['an invalid prompt', new InvalidPromptError({ prompt: 'p', message: 'm' }), 'invalid_request'],
    ['an invalid argument', new InvalidArgumentError({ argument: 'a', message: 'm' }), 'invalid_request'],
    ['an unsupported feature', new UnsupportedFunctionalityError({ functionality: 'f' }), 'invalid_request'],
    ['an empty body', new EmptyResponseBodyError({}), 'network'],
    ['a reset', coded('ECONNRESET'), 'network'],
    ['an unknown host', coded('ENOTFOUND'), 'network'],
    ['a name that cannot be resolved now', coded('EAI_AGAIN'), 'network'],
    ['a broken pipe', coded('EPIPE'), 'network'],
    ['an unreachable host', coded('EHOSTUNREACH'), 'network'],
    ['an unreachable network', coded('ENETUNREACH'), 'network'],
    ['a broken socket', coded('UND_ERR_SOCKET'), 'network'],
    ['a certificate', coded('CERT_HAS_EXPIRED'), 'network'],
    ['a certificate of its own', coded('DEPTH_ZERO_SELF_SIGNED_CERT'), 'network'],
    ['an unknown issuer', coded('UNABLE_TO_VERIFY_LEAF_SIGNATURE'), 'network'],
    ['TLS', coded('ERR_TLS_CERT_ALTNAME_INVALID'), 'network'],
    ['a code inside a word', coded('NOT_ECONN'), 'server'],
    ['fetch', new TypeError('fetch failed'), 'network'],
    ['fetch of a browser', new TypeError('Failed to fetch'), 'network'],
    ['a terminated body', new TypeError('terminated'), 'network'],
    ['a cause of a cause', new Error('a', { cause: new Error('b', { cause: coded('ECONNREFUSED') }) }), 'network'],
    ['a stream without an end', new Error('The stream ended without a finish'), 'network'],
    ['a timeout of the system', coded('ETIMEDOUT'), 'timeout'],
    ['a timeout before the headers', coded('UND_ERR_HEADERS_TIMEOUT', 'socket'), 'timeout'],
    ['a timeout in the body', coded('UND_ERR_BODY_TIMEOUT'), 'timeout'],
    ['a timeout of the connection', coded('UND_ERR_CONNECT_TIMEOUT'), 'timeout'],
    ['a timeout by name', new DOMException('m', 'TimeoutError'), 'timeout'],
    ['a timeout that is the cause', new Error('m', { cause: coded('ETIMEDOUT') }), 'timeout'],
    ['a code that is no text', Object.assign(new Error('m'), { code: 7 }), 'server'],
    ['any other error', new Error('m'), 'server'],
    ['null', null, 'server'],
    ['undefined', undefined, 'server'],
  ])('%s is %s', (_, error, kind) => expect(kindOf(error)).toBe(kind));

  it('an error that is its own cause is read once', () => {
    const error = new Error('m');
    error.cause = error;
    expect(kindOf(error)).toBe('server');
  });

  it('a status that is not a number is ignored', () => {
    expect(classifyFault(Object.assign(new Error('m'), { status: '401' }), 0).status).toBeNull();
    expect(classifyFault({ statusCode: '401', message: 'm' }, 0).status).toBeNull();
    // A part of a stream is no error of a client.
    expect(classifyFault({ status: 401, message: 'm' }, 0).status).toBeNull();
    expect(classifyFault({ statusCode: 401, message: 'm' }, 0)).toMatchObject({ status: 401, kind: 'auth' });
  });
});

describe('what a fault says', () => {
  it.each<[string, unknown, string]>([
    ['the error', new Error('down'), 'down'],
    ['its cause, too', new Error('down', { cause: new Error('for good') }), 'down: for good'],
    ['a cause once', new Error('down: for good', { cause: new Error('for good') }), 'down: for good'],
    ['an empty cause not at all', new Error('down', { cause: new Error('') }), 'down'],
    ['a cause that is no error not at all', new Error('down', { cause: 'for good' }), 'down'],
    ['the type of a streamed error', { error: { type: 'overloaded', message: 'busy' } }, 'overloaded: busy'],
    ['its code, if it has no type', { code: 503, message: 'busy' }, '503: busy'],
    ['its code, if its type is empty', { type: '', code: 'busy', message: 'later' }, 'busy: later'],
    ['no code that is an object', { code: {}, message: 'busy' }, 'busy'],
    ['the message alone', { message: 'busy' }, 'busy'],
    ['the message alone, without a code', { code: null, message: 'busy' }, 'busy'],
    ['a text', 'busy', 'busy'],
    ['`error` that is a text', { error: 'busy' }, '{"error":"busy"}'],
    ['`error` that is null', { error: null }, '{"error":null}'],
    ['a message that is no text', { message: 5 }, '{"message":5}'],
  ])('%s', (_, error, message) => expect(classifyFault(error, 0).message).toBe(message));

  it('S-5: no secret, and at most 2,000 bytes', () => {
    expect(classifyFault(new Error('no planted-3f9c'), 0, ['planted-3f9c']).message).toBe('no [redacted]');
    expect(classifyFault(new Error('ä'.repeat(2_000)), 0).message).toBe('ä'.repeat(1_000));
    expect(timeoutFault('slow')).toEqual({ kind: 'timeout', message: 'slow', status: null, retryAfterMs: null });
  });
});
