import type { Json } from '../../machines/index.ts';

/** An error that a tool throws to send the model a structured value with the message (C-3). */
export class ToolError extends Error {
  override readonly name = 'ToolError';
  readonly value: Json;

  constructor(message: string, value: Json = null) {
    super(message);
    this.value = value;
  }
}
