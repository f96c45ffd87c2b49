import { Injectable } from '@nestjs/common';

/** Stands for a language model: only its answer tells how many tokens it took. */
@Injectable()
export class LanguageModel {
  complete(prompt: string): { text: string; tokens: number } {
    return { text: `As for "${prompt}": it depends.`, tokens: 400 };
  }
}
