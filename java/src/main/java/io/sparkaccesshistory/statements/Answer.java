package io.sparkaccesshistory.statements;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;

/**
 * What the driver says of a text.
 *
 * @param text what Spark parses in its place, or the statement of ours
 * @param columns of the statement's result, as DDL, "" for none; null for a text of Spark's
 * @param arguments of the statement, as JSON
 * @param pure whether the text is Spark's whoever asks, so that nobody need ask again
 * @param refused the text may not be run: why
 * @param failed the text cannot be understood: why
 */
@JsonIgnoreProperties(ignoreUnknown = true)
record Answer(
    String text, String columns, String arguments, boolean pure, String refused, String failed) {}
