package io.sparkaccesshistory.policies.model;

import com.fasterxml.jackson.annotation.JsonFormat;
import java.util.List;

/**
 * A policy on columns of a table, which are named by their keys. In JSON: [policy, [column, …]].
 */
@JsonFormat(shape = JsonFormat.Shape.ARRAY)
public record PolicyUse(String policy, List<String> columns) {}
