"""What governance was at each moment, as rows with a beginning and an end; no Spark.

In: the events of `governance_history`. Out: the rows of `object_governance`, below the views of governance.
"""
