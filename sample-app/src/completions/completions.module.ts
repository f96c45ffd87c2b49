import { Module } from '@nestjs/common';
import { CompletionsController } from './completions.controller.js';
import { LanguageModel } from './language-model.js';
import { TokenBudget } from './token-budget.js';

@Module({
  controllers: [CompletionsController],
  providers: [LanguageModel, TokenBudget],
})
export class CompletionsModule {}
