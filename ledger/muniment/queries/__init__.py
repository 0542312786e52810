"""Reading only: filters, SQL, projections."""
