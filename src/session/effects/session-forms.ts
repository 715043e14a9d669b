import type { FilePart, TextPart, ToolOutput, ToolResultPart } from '../../../machines/index.ts';
import { resultStub } from '../../context/context-guard.ts';
import type { NamedFiles } from '../../model/prompt/files.ts';
import type { PromptForms } from '../../model/prompt/prompt.ts';
import type { Conversation } from '../../observe/conversation.ts';
import type { Catalog } from '../../tools/catalog.ts';
import { asItem } from '../../tools/provider-tools.ts';

/** How results and files are written in the prompts of a session. */
export class SessionForms implements PromptForms {
  private readonly conversation: Conversation;
  private readonly catalog: Catalog;
  private readonly files: NamedFiles;
  private readonly isReadable: boolean;

  /** `isReadable`: the model can read a result that was left out. */
  constructor(conversation: Conversation, catalog: Catalog, files: NamedFiles, isReadable: boolean) {
    this.conversation = conversation;
    this.catalog = catalog;
    this.files = files;
    this.isReadable = isReadable;
  }

  stub(callId: string): string {
    return resultStub(callId, this.conversation.answerTokens.get(callId) ?? 0, this.isReadable);
  }

  takesText(name: string): boolean {
    return this.catalog.takesText(name);
  }

  output({ toolName, output }: ToolResultPart): ToolOutput {
    return asItem(output, this.catalog.get(toolName)?.resultItem);
  }

  file<Part extends Pick<FilePart, 'mediaType' | 'data'>>(part: Part): Part | TextPart {
    return this.files.resolved(part);
  }
}
