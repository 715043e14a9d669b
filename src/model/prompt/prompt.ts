import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider';
import {
  appendMerged,
  type FilePart,
  type JsonObject,
  type Message,
  type TextPart,
  type ToolCallPart,
  type ToolOutput,
  type ToolResultPart,
  userMessage,
} from '../../../machines/index.ts';
import { freeableText, isOldText, withoutResults, withoutText } from '../../context/context-guard.ts';
import type { PromptSource } from '../../context/prompt-source.ts';
import { eventLoop } from '../../host/event-loop.ts';
import { ownCopy } from '../../platform/own-copy.ts';
import { wellFormed } from '../../platform/text.ts';
import { type CacheMark, cacheMark, marked, marksIn, marksLeft } from './cache-marks.ts';
import { ownedBy } from './own-parts.ts';
import { promptMessage } from './sdk-message.ts';
import { carriesToolFiles, withFilesApart } from './tool-files.ts';
import { WireIds } from './wire-ids.ts';

export type PromptRequest = {
  provider: string;
  notice: string | null;
  /** Ids of the calls whose results are left out (T-6); only ever more. */
  omit: readonly string[];
  /** Estimated tokens of old text that is left out, from the oldest on; only ever more. */
  omitText?: number;
  /** `auto` marks the cacheable part (see `cacheMark`), and steps back where the user marks. */
  promptCaching: 'auto' | 'off';
  /** The user's own mark for the whole call. */
  ownMark?: JsonObject | null;
  /** Returns how many of the tools that the request offers carry a mark. */
  markedTools?: (mark: CacheMark) => number;
};

type Conversed = Pick<PromptRequest, 'provider' | 'omit' | 'omitText'>;

/** `marks`: how many cache marks it and the tools carry, Pawl's and the user's. */
export type BuiltPrompt = { prompt: LanguageModelV4Prompt; marks: number };

const goOn = 'Go on.';

const nothingOmitted: ReadonlySet<string> = new Set();

/** How many messages are taken in before the event loop may have its turn. */
const mostAtOnce = 200;

/** How some results and files are written. */
export type PromptForms = {
  /** Returns the text in place of a result that is left out. */
  stub(callId: string): string;
  /** Whether the session has a tool of this name that takes a text. */
  takesText(name: string): boolean;
  /** Returns a result's output in the form that its tool demands. */
  output(part: ToolResultPart): ToolOutput;
  /** Returns a file that is named by its URL as it goes out. */
  file<Part extends Pick<FilePart, 'mediaType' | 'data'>>(part: Part): Part | TextPart;
};

/**
 * Builds the prompt of each request from the conversation (C-6, N-1, P-5). It keeps each provider's prompt and only
 * appends to it, so the cost of a turn does not grow with the session.
 */
export class PromptBuilder {
  private readonly source: PromptSource;
  private readonly built = new Map<string, Built>();
  private readonly forms: PromptForms;

  constructor(source: PromptSource, forms: PromptForms) {
    this.source = source;
    this.forms = forms;
  }

  /** Takes in a long conversation before its first request, while the event loop has its turns; null for a short one. */
  catchUp(request: Conversed): Promise<void> | null {
    const { taken } = this.begun(request);
    return this.source.messages.length - taken < mostAtOnce ? null : this.takenInTurns(request);
  }

  private async takenInTurns(request: Conversed): Promise<void> {
    while (this.lasting(request, mostAtOnce).taken < this.source.messages.length) {
      if (eventLoop.isDue) await eventLoop.turn();
    }
  }

  build(request: PromptRequest): BuiltPrompt {
    const { provider, notice, promptCaching, ownMark = null, markedTools = () => 0 } = request;
    const lasting = this.lasting(request);
    const { instructions } = this.source;
    const mark = cacheMark(provider, ownMark);
    let marks = lasting.marks.reduce((sum, count) => sum + count, mark === null ? 0 : markedTools(mark));
    let left = promptCaching === 'auto' ? marksLeft(marks) : 0;
    const withMark = (message: LanguageModelV4Message) => {
      if (mark === null || left === 0) return message;
      left -= 1;
      const carrying = marked(message, mark);
      marks += marksIn(carrying, mark) - marksIn(message, mark);
      return carrying;
    };
    // After a turn of provider-executed tools alone, the model spoke last. It continues only from its own open message.
    const asksOn = notice === null && lasting.prompt.at(-1)?.role === 'assistant' && !this.isOpen(provider);
    const prompt = this.closed(lasting, notice !== null || asksOn);
    // A middleware may change these in place; to copy all would cost as much as the whole conversation, each time.
    for (const index of [prompt.length - 1, prompt.findLastIndex(({ role }) => role === 'user')])
      if (prompt[index] !== undefined) prompt[index] = ownCopy(prompt[index]);
    const last = prompt.at(-1);
    // Mark the last message of the conversation, not the notice that follows it (N-3).
    if (last !== undefined) prompt[prompt.length - 1] = withMark(last);
    if (instructions !== null && instructions !== '') {
      prompt.unshift(withMark({ role: 'system', content: instructions.toWellFormed() }));
    }
    if (notice !== null) prompt.push(promptMessage(userMessage(notice.toWellFormed())));
    else if (asksOn) prompt.push(promptMessage(userMessage(goOn)));
    return { prompt, marks };
  }

  /**
   * Returns the prompt so far. A call that its provider has not answered yet is left out where a user message follows it,
   * since the provider continues its own message only.
   */
  private closed({ prompt, awaited }: Built, isFollowed: boolean): LanguageModelV4Prompt {
    if (awaited.size === 0) return prompt.slice();
    const last = isFollowed ? prompt.length : prompt.findLastIndex(({ role }) => role === 'user');
    return prompt.flatMap((message, index) => {
      const open = index < last ? awaited.get(index) : undefined;
      if (open === undefined || message.role !== 'assistant') return message;
      const content = message.content.filter((part) => part.type !== 'tool-call' || !open.has(part.toolCallId));
      return content.length === 0 ? [] : { ...message, content };
    });
  }

  private formed(message: Message, omitted: ReadonlySet<string>): Message {
    const { forms } = this;
    const formed = withoutResults(message, omitted, (callId) => forms.stub(callId));
    switch (formed.role) {
      case 'user':
        return { ...formed, content: formed.content.map((part) => (part.type === 'file' ? forms.file(part) : part)) };
      case 'tool':
        return {
          ...formed,
          content: formed.content.map((part) => ({ ...part, output: withFiles(forms.output(part), forms) })),
        };
      case 'assistant':
        return {
          ...formed,
          content: formed.content.map((part) => {
            if (part.type === 'file' || part.type === 'reasoning-file') return forms.file(part);
            return part.type === 'tool-call' ? withOwnInput(part, forms) : part;
          }),
        };
      default:
        return formed satisfies never;
    }
  }

  /** Returns a message without its text, as long as there is old text to be left out. */
  private shortened(message: Message, built: Built): Message {
    if (built.textLeft <= 0 || !isOldText(message, built.taken, this.source)) return message;
    const freed = freeableText(message);
    built.textLeft -= freed;
    return freed === 0 ? message : withoutText(message);
  }

  private isOpen(provider: string): boolean {
    const last = this.source.messages.at(-1);
    return last?.role === 'assistant' && last.open === true && last.provider === provider;
  }

  /** Returns the prompt for a provider as it is so far; a new one if something else is left out. */
  private begun({ provider, omit, omitText = 0 }: Conversed): Built {
    const { revision } = this.source;
    const known = this.built.get(provider);
    if (known?.omitted.size === omit.length && known.omitText === omitText && known.revision === revision) return known;
    const omitted = omit.length === 0 ? nothingOmitted : new Set(omit);
    const ids = new WireIds(provider);
    const left = { omitted, omitText, textLeft: omitText, revision };
    const own = { ids, taken: 0, speaker: undefined, merged: [], prompt: [], marks: [], awaited: new Map() };
    const built: Built = { ...left, ...own };
    this.built.set(provider, built);
    return built;
  }

  /** Takes in the messages that are new, at most so many of them. */
  private lasting(request: Conversed, most = Number.POSITIVE_INFINITY): Built {
    const { provider } = request;
    const { messages } = this.source;
    const built = this.begun(request);
    try {
      const firstNew = Math.max(0, built.merged.length - 1);
      const end = Math.min(messages.length, built.taken + most);
      for (; built.taken < end; built.taken += 1) {
        const message = messages[built.taken];
        if (message?.role === 'assistant') built.speaker = message.provider;
        if (message === undefined) continue;
        const formed = built.ids.renamed(
          this.formed(this.shortened(message, built), built.omitted),
          built.speaker,
          built.taken,
        );
        const own = ownedBy(formed, provider, built.speaker);
        if (own !== null) appendFor(provider, built.merged, own);
      }
      const mark = cacheMark(provider, null);
      for (let index = firstNew; index < built.merged.length; index += 1) {
        const message = built.merged[index];
        if (message === undefined) continue;
        const formed = promptMessage(wellFormed(message));
        built.prompt[index] = formed;
        noteAwaited(built.awaited, message, index);
        built.marks[index] = mark === null ? 0 : marksIn(formed, mark);
      }
      return built;
    } catch (error) {
      // A partial prompt must not be reused as a complete one.
      this.built.delete(provider);
      throw error;
    }
  }
}

/** Appends a message as this provider takes it: a file of a result that its tool messages cannot carry follows them. */
function appendFor(provider: string, merged: Message[], message: Message): void {
  const apart = message.role === 'tool' && !carriesToolFiles(provider) ? withFilesApart(message.content) : null;
  appendMerged(merged, apart === null ? message : ({ ...message, content: apart.answers } as Message));
  if (apart?.files != null) merged.push(apart.files);
}

/** Returns a call whose input is a text only if its tool takes one; otherwise no provider would accept it (C-2). */
function withOwnInput(call: ToolCallPart, forms: PromptForms): ToolCallPart {
  const { isText, ...rest } = call;
  if (isText !== true || forms.takesText(call.toolName)) return call;
  return { ...rest, input: { malformed_input: rest.input.text ?? '' } };
}

function withFiles(output: ToolOutput, forms: PromptForms): ToolOutput {
  if (output.type !== 'content') return output;
  return { ...output, value: output.value.map((part) => (part.type === 'file' ? forms.file(part) : part)) };
}

type Built = {
  omitted: ReadonlySet<string>;
  omitText: number;
  /** The tokens of old text that are still to be left out. */
  textLeft: number;
  /** The revision of the conversation that it was built from. */
  revision: number;
  /** The ids of its calls. */
  ids: WireIds;
  /** The number of conversation messages it covers. */
  taken: number;
  /** The provider of the last assistant message covered. */
  speaker: string | undefined;
  merged: Message[];
  prompt: LanguageModelV4Message[];
  /** How many cache marks each message of the prompt carries. */
  marks: number[];
  /** The ids of the calls, by the index of their message, whose provider has not answered them yet. */
  awaited: Map<number, Set<string>>;
};

/** Notes the calls of a message that their provider has not answered, and the answers to earlier ones. */
function noteAwaited(awaited: Built['awaited'], message: Message, index: number): void {
  awaited.delete(index);
  if (message.role !== 'assistant') return;
  const own = new Set<string>();
  for (const part of message.content) {
    if (part.type === 'tool-call' && part.providerExecuted === true) own.add(part.toolCallId);
    if (part.type !== 'tool-result') continue;
    own.delete(part.toolCallId);
    for (const [at, ids] of awaited) if (ids.delete(part.toolCallId) && ids.size === 0) awaited.delete(at);
  }
  if (own.size > 0) awaited.set(index, own);
}
