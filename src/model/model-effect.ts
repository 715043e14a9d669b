import type { LanguageModelV4 } from '@ai-sdk/provider';
import type {
  CallFacts,
  FilePart,
  Message,
  ModelRequest,
  Reply,
  ReplyCall,
  ReportVerdict,
  ToolChoice,
} from '../../machines/index.ts';
import type { RequestMeter } from '../context/request-meter.ts';
import type { Clock } from '../host/clock.ts';
import type { Sighting } from '../observe/events.ts';
import type { OfferedTool } from '../vocabulary/offered-tool.ts';
import type { Price } from '../vocabulary/prices.ts';
import type { ModelSettings } from '../vocabulary/settings.ts';
import type { PromptBuilder } from './prompt/prompt.ts';
import type { Target } from './targets.ts';

export type ModelEffectOptions = {
  targets: readonly Target[];
  /** Prices by target name. */
  pricing: Record<string, Price>;
  /** Returns the settings of the current turn. */
  settings: () => ModelSettings;
  /** Returns which call the model must make in the current turn; null if it decides (B-5b). */
  toolChoice: () => ToolChoice | null;
  /** Timeouts in ms: for the request, and between two parts of its stream. */
  timeoutMs: number;
  idleTimeoutMs: number;
  /** Maximum bytes of a reply; beyond it the request is cancelled. */
  replyBytes: number;
  prompts: PromptBuilder;
  /** Downloads the files of the conversation that a model cannot fetch itself; null if it names none. */
  prepareFiles: (model: LanguageModelV4, signal: AbortSignal) => Promise<void> | null;
  callIds: ReadonlySet<string>;
  catalog: {
    offered(offer: ModelRequest['offer']): readonly OfferedTool[];
    /** Collects the facts that decide a call's disposition; `within` is the index of the enclosing batch. */
    inspect(call: ReplyCall, within: number | null, signal: AbortSignal): Promise<CallFacts>;
    /** Whether a tool takes a text instead of an object. */
    takesText(name: string): boolean;
    /** Whether a tool's provider may give its result in a later reply. */
    isDeferred(name: string): boolean;
    /** Returns the calls inside a batch; empty for any other call. */
    inside(call: CallFacts, sent: string): ReplyCall[];
    /** Refuses what calls may not do together. */
    together(calls: CallFacts[]): CallFacts[];
  };
  checks: {
    /** Whether replies are checked; then none streams. */
    readonly replies: boolean;
    reply(
      reply: Reply,
      at: { turn: number; attempt: number },
      signal: AbortSignal,
    ): Promise<{ kind: 'passed'; value: Reply } | { kind: 'denied' | 'unchecked'; reason: string }>;
  };
  /** Judges a reply's text and files as the report. */
  judgeReply: (text: string, files: readonly FilePart[], signal: AbortSignal) => Promise<ReportVerdict>;
  /**
   * Measures the request and its reply (T-6), and estimates what it used where its provider does not say: the reply broke
   * off, or no usage is reported.
   */
  meter: Pick<RequestMeter, 'measure' | 'guess'>;
  /** The conversation, of which a provider may refuse a piece. */
  messages: () => readonly Message[];
  /** Writes a request down, before it goes out; null for a session without a journal (D-3). */
  recordRequest: RecordRequest | null;
  /** `at` (epoch ms) is when it was seen; it defaults to now. */
  sight: (sighting: Sighting, at?: number) => void;
  clock: Clock;
  secrets: readonly string[];
};

export type RecordRequest = (request: ModelRequest, provider: string, sent: SentCall) => Promise<void>;

/** What goes into the journal of a request, besides its messages: the tools, and how many cache marks it carries (N-3). */
export type SentCall = { tools: readonly OfferedTool[]; marks: number };
